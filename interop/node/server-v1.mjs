// A server on the TypeScript SDK, version 1: on stdio, or at the port of
// 127.0.0.1 that its argument names (0: any), which it prints. It asks while
// the call is open.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { confirmForm, pickForm, text } from './booking.mjs';

function newServer() {
    const server = new McpServer({ name: 'typescript-v1', version: '1' });
    server.registerTool('book', { description: 'Books a flight', inputSchema: { to: z.string() } }, async ({ to }, { requestId }) => {
        const ask = form => server.server.elicitInput(form, { relatedRequestId: requestId });
        const pick = await ask(pickForm(to));
        if (pick.action !== 'accept') {
            return text(`not booked: ${pick.action}`);
        }
        const confirm = await ask(confirmForm(pick.content.flight));
        return text(confirm.content?.confirmed === true ? `booked ${pick.content.flight}` : 'not booked');
    });
    return server;
}

if (process.argv[2] === undefined) {
    await newServer().connect(new StdioServerTransport());
} else {
    const sessions = new Map();
    const service = createServer(async (req, res) => {
        const id = req.headers['mcp-session-id'];
        let transport = sessions.get(id);
        if (id && !transport) {
            res.writeHead(404).end();
            return;
        }
        if (!transport) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                onsessioninitialized: id => sessions.set(id, transport)
            });
            await newServer().connect(transport);
        }
        await transport.handleRequest(req, res);
    });
    service.listen(Number(process.argv[2]), '127.0.0.1', () => console.log(service.address().port));
}
