package export_tidegate_plugin_tools

import (
	types "wit_component/tidegate_plugin_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// refusal is why there is no answer. The words are fixed: nothing of a file or path is quoted.
type refusal struct {
	code    string
	message string
}

var (
	notFound   = &refusal{"NOT_FOUND", "no such file in the workspace"}
	readDenied = &refusal{"READ_DENIED", "the plugin may not read this file"}
	notAFile   = &refusal{"NOT_A_FILE", "the path does not name a regular file"}
	tooLarge   = &refusal{"TOO_LARGE", "the file is longer than 4,194,304 bytes"}
	longLine   = &refusal{"TOO_LARGE", "a line of the file is longer than 65,536 bytes"}
	tooMany    = &refusal{"TOO_LARGE", "the file has more than 100,000 occurrences to look at"}
	readFailed = &refusal{"READ_FAILED", "the file could not be read"}
	malformed  = &refusal{"MALFORMED", "the file is not an iCalendar file"}
	badEvent   = &refusal{"MALFORMED", "an event of the file has a time or duration that is none"}
	badRule    = &refusal{"MALFORMED", "an event of the file has a repetition that is none"}
	otherRule  = &refusal{"UNSUPPORTED_RULE", "an event repeats by a rule other than daily or weekly with COUNT, UNTIL, INTERVAL and, for weekly, BYDAY"}
	otherDates = &refusal{"UNSUPPORTED_RULE", "an event has dates added or moved one by one (RDATE, RECURRENCE-ID)"}
	otherZone  = &refusal{"UNSUPPORTED_TIMEZONE", "an event is in a time zone that is not in the IANA table"}
	cancelled  = &refusal{"CANCELLED", "the caller gave up on the call"}
)

func (r *refusal) Error() string {
	return r.message
}

func (r *refusal) outcome() types.Outcome {
	status := types.StatusFailed
	if r == cancelled {
		status = types.StatusCancelled
	}
	return types.Outcome{
		Status:            status,
		Content:           wit.None[types.Content](),
		StructuredContent: wit.None[string](),
		Error: wit.Some(types.Failure{
			Code: r.code, Message: r.message, Retryable: wit.None[bool](),
		}),
		Metadata: wit.None[string](),
	}
}
