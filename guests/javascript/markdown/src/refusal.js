// Why a tool gave up. The words are fixed: nothing of a file, a path or an exception is quoted.

export class Refusal extends Error {
  constructor(code, message, status = 'failed') {
    super(message);
    this.code = code;
    this.status = status;
  }

  static notFound() {
    return new Refusal('NOT_FOUND', 'no such file in the workspace');
  }

  static denied() {
    return new Refusal('READ_DENIED', 'the plugin may not read this file');
  }

  static notAFile() {
    return new Refusal('NOT_A_FILE', 'the path does not name a regular file');
  }

  static notText() {
    return new Refusal('NOT_TEXT', 'the file is not UTF-8 text');
  }

  static tooLarge() {
    return new Refusal('TOO_LARGE', 'the file is longer than 524,288 bytes');
  }

  static longLine() {
    return new Refusal('TOO_LARGE', 'a line of the file is longer than 65,536 bytes');
  }

  static failed() {
    return new Refusal('READ_FAILED', 'the file could not be read');
  }

  static cancelled() {
    return new Refusal('CANCELLED', 'the caller gave up on the call', 'cancelled');
  }

  // What the host takes in the place of a success.
  outcome() {
    return {
      status: this.status,
      references: [],
      error: { code: this.code, message: this.message },
    };
  }
}
