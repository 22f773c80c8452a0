// Runs Ajv for the benchmark of forms. Reads one JSON line with the schemas and
// answers, then commands, one a line: "check N" and "compile N" do N passes and
// answer with the nanoseconds of processor time they took.
import { createInterface } from 'node:readline';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// A fresh instance: one would remember the schemas that it has compiled.
function compiler() {
  const ajv = new Ajv2020({ strict: false, logger: false });
  addFormats(ajv, ['email', 'uri', 'date', 'date-time']);
  return ajv;
}

let cases;
const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  if (!cases) {
    cases = JSON.parse(line).map((c) => ({ schema: c.schema, answer: c.answer, check: undefined }));
    const refused = [];
    for (const c of cases) {
      try {
        c.check = compiler().compile(JSON.parse(c.schema));
        refused.push(!c.check(JSON.parse(c.answer)));
      } catch {
        refused.push(true);
      }
    }
    console.log(JSON.stringify(refused));
    continue;
  }
  const [what, n] = line.split(' ');
  if (what === 'keep') {
    const keep = new Set(JSON.parse(n));
    cases = cases.filter((_, i) => keep.has(i));
    console.log(cases.length);
    continue;
  }
  let legal = 0;
  const start = process.cpuUsage();
  for (let i = 0; i < Number(n); i++) {
    if (what === 'compile') {
      const ajv = compiler();
      for (const c of cases) if (ajv.compile(JSON.parse(c.schema))(JSON.parse(c.answer))) legal++;
    } else {
      for (const c of cases) if (c.check(JSON.parse(c.answer))) legal++;
    }
  }
  const took = process.cpuUsage(start);
  if (legal !== cases.length * Number(n)) throw new Error(`${legal} of ${cases.length * Number(n)} answers were legal`);
  console.log(String((took.user + took.system) * 1000));
}
