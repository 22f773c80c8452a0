// The script of the page that a browser comes back to from the authorization server
// of an MCP server.

import { ParleySignedIn } from './page/signedin'

customElements.define('parley-signed-in', ParleySignedIn)
