// A server on the TypeScript SDK, version 2: its arguments are the folder of
// its settings and, unless it is to speak on stdio, the port of 127.0.0.1 (0:
// any), which it prints. The settings are the key that its codec seals request
// states with, in the file key, and how many seconds they live, in the file
// ttl. Its one tool asks what its arguments say, round by round, in results; the
// SDK asks while the call is open where the revision wants that. If the
// arguments name a page that comes first, it asks only when someone was there.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
    createMcpHandler,
    createRequestStateCodec,
    inputRequired,
    inputResponse,
    isLegacyRequest,
    McpServer,
    UrlElicitationRequiredError,
    WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [settings, port] = process.argv.slice(2);
const ttl = join(settings, 'ttl');
const codec = createRequestStateCodec({
    key: readFileSync(join(settings, 'key')),
    ttlSeconds: existsSync(ttl) ? Number(readFileSync(ttl, 'utf8')) : undefined
});

const params = z.record(z.string(), z.any());
const inputSchema = z.object({ rounds: z.array(z.array(z.object({ key: z.string(), params }))), first: params.optional() });

async function visited(page) {
    const response = await fetch(page.replace('/open/', '/done/'));
    return response.ok;
}

function newServer() {
    const server = new McpServer({ name: 'typescript-v2', version: '2' }, { requestState: { verify: codec.verify } });
    server.registerTool('ask', { description: 'Asks', inputSchema }, async ({ rounds, first }, ctx) => {
        if (first && !(await visited(first.url))) {
            throw new UrlElicitationRequiredError([first]);
        }
        const { round = -1, answers = {} } = ctx.mcpReq.requestState() ?? {};
        for (const { key } of rounds[round] ?? []) {
            const { action, content } = inputResponse(ctx.mcpReq.inputResponses, key);
            answers[key] = { action, content };
        }
        const next = rounds[round + 1];
        if (next === undefined) {
            return { content: [{ type: 'text', text: JSON.stringify(answers) }] };
        }
        return inputRequired({
            inputRequests: Object.fromEntries(
                next.map(({ key, params: { mode, ...params } }) => [key, mode === 'url' ? inputRequired.elicitUrl(params) : inputRequired.elicit(params)])
            ),
            requestState: await codec.mint({ round: round + 1, answers }, ctx)
        });
    });
    return server;
}

// Revisions before 2026-07-28 need sessions to ask in.
const sessions = new Map();

async function legacy(request) {
    const id = request.headers.get('mcp-session-id');
    let transport = sessions.get(id);
    if (id && !transport) {
        return new Response(null, { status: 404 });
    }
    if (!transport) {
        transport = new WebStandardStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => sessions.set(id, transport)
        });
        await newServer().connect(transport);
    }
    return transport.handleRequest(request);
}

if (port === undefined) {
    serveStdio(newServer);
} else {
    const handler = createMcpHandler(newServer, { legacy: 'reject' });
    const service = createServer(async (req, res) => {
        const body = req.method === 'POST' ? { body: Readable.toWeb(req), duplex: 'half' } : {};
        const request = new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, ...body });
        const response = (await isLegacyRequest(request)) ? await legacy(request) : await handler.fetch(request);
        res.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
        if (response.body) {
            Readable.fromWeb(response.body).pipe(res);
        } else {
            res.end();
        }
    });
    service.listen(Number(port), '127.0.0.1', () => console.log(service.address().port));
}
