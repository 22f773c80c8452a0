// The TypeScript SDK as a server for the benchmark of the kit: it asks the same
// form as the others. What it asks and the state it sends come in by environment.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';

const { message, schema, state } = JSON.parse(process.env.PARLEY_BENCH_FORM);
const inputSchema = fromJsonSchema({ type: 'object', properties: { to: { type: 'string' } }, required: ['to'] });

// A server for each request is how its documentation has it.
const mcp = toNodeHandler(
  createMcpHandler(() => {
    const server = new McpServer({ name: 'bench', version: '1' });
    server.registerTool('book', { inputSchema }, async (_, ctx) => {
      const pick = acceptedContent(ctx.mcpReq.inputResponses, 'pick');
      if (!pick) {
        return inputRequired({
          inputRequests: { pick: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } } },
          requestState: state,
        });
      }
      const booked = { flight: pick.flight, bags: pick.bags };
      return { content: [{ type: 'text', text: JSON.stringify(booked) }], structuredContent: booked };
    });
    return server;
  }),
);

const http = createServer((req, res) => {
  if (req.url.startsWith('/usage')) {
    const { user, system } = process.cpuUsage();
    res.end(JSON.stringify({ Processor: (user + system) * 1000 }));
    return;
  }
  mcp(req, res);
});
http.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${http.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
