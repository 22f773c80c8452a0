// A server on the TypeScript SDK, version 2: on stdio, or at the port of
// 127.0.0.1 that its argument names (0: any), which it prints. It asks in the
// result, and its sealed state outlives the process.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createMcpHandler, createRequestStateCodec, inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { confirmForm, pickForm, text } from './booking.mjs';

const codec = createRequestStateCodec({ key: 'a key that every process of this test has' });

function newServer() {
    const server = new McpServer({ name: 'typescript-v2', version: '2' }, { requestState: { verify: codec.verify } });
    server.registerTool('book', { description: 'Books a flight', inputSchema: z.object({ to: z.string() }) }, async ({ to }, ctx) => {
        const answers = ctx.mcpReq.inputResponses;
        const picked = ctx.mcpReq.requestState()?.flight;
        if (picked) {
            const confirm = inputResponse(answers, 'confirm');
            return text(confirm.content?.confirmed === true ? `booked ${picked}` : 'not booked');
        }
        const pick = inputResponse(answers, 'pick');
        if (pick.action === undefined) {
            return inputRequired({
                inputRequests: { pick: inputRequired.elicit(pickForm(to)) },
                requestState: await codec.mint({}, ctx)
            });
        }
        if (pick.action !== 'accept') {
            return text(`not booked: ${pick.action}`);
        }
        return inputRequired({
            inputRequests: { confirm: inputRequired.elicit(confirmForm(pick.content.flight)) },
            requestState: await codec.mint({ flight: pick.content.flight }, ctx)
        });
    });
    return server;
}

if (process.argv[2] === undefined) {
    serveStdio(newServer);
} else {
    const handler = createMcpHandler(newServer);
    const service = createServer(async (req, res) => {
        const body = req.method === 'POST' ? { body: Readable.toWeb(req), duplex: 'half' } : {};
        const response = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, ...body }));
        res.writeHead(response.status, Object.fromEntries(response.headers));
        if (response.body) {
            Readable.fromWeb(response.body).pipe(res);
        } else {
            res.end();
        }
    });
    service.listen(Number(process.argv[2]), '127.0.0.1', () => console.log(service.address().port));
}
