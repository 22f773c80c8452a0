// What a script and the Go test that runs it say to each other: one JSON value
// a line. The test first says where the server is, and then sends calls one by
// one. The script says "ready", puts questions in between, and ends each call
// with its result or error. It ends when its input does.
import { createInterface } from 'node:readline';

function say(message) {
    process.stdout.write(JSON.stringify(message) + '\n');
}

// serve connects with connect, which gets what the test says, and a function
// that puts the params of an elicitation to the test and returns its answer.
export async function serve(connect) {
    const waiting = new Map();
    let asked = 0;
    const ask = params => {
        const id = ++asked;
        say({ question: { id, params } });
        return new Promise(resolve => waiting.set(id, resolve));
    };
    let client;
    const obey = async message => {
        if (message.server) {
            client = await connect(message, ask);
            return 'ready';
        }
        if (message.prompt) {
            return await client.getPrompt({ name: message.prompt });
        }
        if (message.resource) {
            return await client.readResource({ uri: message.resource });
        }
        if (message.list) {
            return await client.listTools();
        }
        return await client.callTool({ name: message.tool, arguments: message.arguments });
    };
    const input = createInterface({ input: process.stdin });
    input.on('line', async line => {
        const message = JSON.parse(line);
        if (message.answer) {
            waiting.get(message.id)(message.answer);
            waiting.delete(message.id);
            return;
        }
        try {
            say({ result: await obey(message) });
        } catch (error) {
            say({ error: { code: Number.isInteger(error.code) ? error.code : 0, message: String(error.message) } });
        }
    });
    input.on('close', async () => {
        await client?.close();
        process.exit(0);
    });
}
