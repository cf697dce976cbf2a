/** Generates the default flow schemas and priority levels from the table of facts: `node scripts/generate-flow-control.ts [FACTS-DIRECTORY]`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')
const source = join(process.argv[2] ?? join(repository, '../shared/api-facts'), 'flowcontrol-defaults.json')
type Fact = { kind: string; metadata: { name: string }; spec: unknown }
const lines = (JSON.parse(readFileSync(source, 'utf8')) as Fact[]).map(({ kind, metadata: { name }, spec }) =>
  JSON.stringify({ kind, name, spec }),
)
writeFileSync(join(repository, 'src/apiserver/bootstrap/flow-control-defaults.gen.json'), `[\n${lines.join(',\n')}\n]\n`)
