// What the servers on both TypeScript SDKs ask.
export function pickForm(to) {
    return {
        mode: 'form',
        message: `Which flight to ${to}?`,
        requestedSchema: {
            type: 'object',
            properties: { flight: { type: 'string', title: 'Flight', enum: ['PY 101', 'PY 202'] } },
            required: ['flight']
        }
    };
}

export function confirmForm(flight) {
    return {
        mode: 'form',
        message: `Book ${flight}?`,
        requestedSchema: {
            type: 'object',
            properties: { confirmed: { type: 'boolean', title: 'Book it' } },
            required: ['confirmed']
        }
    };
}

export function text(words) {
    return { content: [{ type: 'text', text: words }] };
}
