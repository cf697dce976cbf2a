/** Generates the default flow schemas and priority levels from the table of facts: `node scripts/generate-flow-control.ts [--check]`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { factsDirectory, writeOrCheck } from './generated-files.ts'

type Fact = { kind: string; metadata: { name: string }; spec: unknown }

const facts = JSON.parse(readFileSync(join(factsDirectory, 'flowcontrol-defaults.json'), 'utf8')) as Fact[]
const lines = facts.map(({ kind, metadata: { name }, spec }) => JSON.stringify({ kind, name, spec }))
writeOrCheck(new Map([['src/apiserver/bootstrap/flow-control-defaults.gen.json', `[\n${lines.join(',\n')}\n]\n`]]))
