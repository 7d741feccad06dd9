//! Serving one client over two byte streams, as a program on its standard streams does.

use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use rmcp::service::serve_server_with_ct;

use super::McpServer;
use crate::lines::{OUTGOING, ServerLines};

impl McpServer {
    /// Serves one client until its input is over and every request has its answer, or until it is
    /// cancelled. `take_output` is given the lines to write.
    ///
    /// # Errors
    ///
    /// What the client did in the place of opening the protocol.
    pub async fn serve_lines(
        &self,
        input: impl AsyncRead + Send + Unpin + 'static,
        take_output: impl FnOnce(mpsc::Receiver<Vec<u8>>),
        cancel: CancellationToken,
    ) -> Result<(), String> {
        let (sender, outgoing) = mpsc::channel(OUTGOING);
        take_output(outgoing);
        let lines = ServerLines::new(input, sender, ("the client".into(), self.settings.messages));
        let served = serve_server_with_ct(self.clone(), lines, cancel).await;
        let running = served.map_err(|error| error.to_string())?;
        running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
