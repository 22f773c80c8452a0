// A client on the TypeScript SDK, version 2: legacy and modern revisions.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { serve } from './lines.mjs';

await serve(async ({ server, revision, capabilities }, ask) => {
    const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
    const client = new Client({ name: 'typescript-v2', version: '2' }, { capabilities, versionNegotiation: { mode } });
    if (capabilities.elicitation) {
        client.setRequestHandler('elicitation/create', request => ask(request.params));
    }
    const transport = server.url
        ? new StreamableHTTPClientTransport(new URL(server.url))
        : new StdioClientTransport({ ...server, stderr: 'inherit' });
    await client.connect(transport);
    if (client.getNegotiatedProtocolVersion() !== revision) {
        throw new Error(`negotiated ${client.getNegotiatedProtocolVersion()}, want ${revision}`);
    }
    return client;
});
