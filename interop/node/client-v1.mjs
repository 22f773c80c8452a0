// A client on the TypeScript SDK, version 1: legacy revisions only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { serve } from './lines.mjs';

await serve(async ({ server, capabilities }, ask) => {
    const client = new Client({ name: 'typescript-v1', version: '1' }, { capabilities });
    if (capabilities.elicitation) {
        client.setRequestHandler(ElicitRequestSchema, request => ask(request.params));
    }
    const transport = server.url
        ? new StreamableHTTPClientTransport(new URL(server.url))
        : new StdioClientTransport({ ...server, stderr: 'inherit' });
    await client.connect(transport);
    return client;
});
