// A server on the TypeScript SDK, version 1: on stdio, or at the port of
// 127.0.0.1 that its argument names (0: any), which it prints. Its one tool
// asks what its arguments say, round by round, while the call is open; if they
// name a page that comes first, only when someone was there.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const params = z.record(z.string(), z.any());
const inputSchema = { rounds: z.array(z.array(z.object({ key: z.string(), params }))), first: params.optional() };

async function visited(page) {
    const response = await fetch(page.replace('/open/', '/done/'));
    return response.ok;
}

function newServer() {
    const server = new McpServer({ name: 'typescript-v1', version: '1' });
    server.registerTool('ask', { description: 'Asks', inputSchema }, async ({ rounds, first }, { requestId }) => {
        if (first && !(await visited(first.url))) {
            throw new UrlElicitationRequiredError([first]);
        }
        const answers = {};
        for (const round of rounds) {
            await Promise.all(
                round.map(async ({ key, params }) => {
                    answers[key] = await server.server.elicitInput(params, { relatedRequestId: requestId });
                })
            );
        }
        return { content: [{ type: 'text', text: JSON.stringify(answers) }] };
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
