/**
 * Writes facts/line-breaks.txt: where the lines of descriptions break, where the rule in src/api/schema/line-breaks.ts is wrong.
 *
 *   node scripts/extract-line-breaks.ts SWAGGER-JSON    the document of a server, or the one in Kubernetes' repository
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exceptionFor } from '../src/api/schema/line-breaks.ts'

type Described = { description?: string; properties?: Record<string, Described> }

const [source] = process.argv.slice(2)
if (source === undefined) throw new Error('which document?')
const document = JSON.parse(readFileSync(source, 'utf8')) as {
  definitions: Record<string, Described>
  parameters: Record<string, Described>
}

const lines = new Set<string>()
const note = ({ description = '' }: Described) => {
  const exception = exceptionFor(description)
  if (exception !== undefined) lines.add(exception.key + exception.breaks)
}
for (const definition of Object.values(document.definitions)) {
  note(definition)
  Object.values(definition.properties ?? {}).forEach(note)
}
Object.values(document.parameters).forEach(note)

writeFileSync(join(import.meta.dirname, '..', 'facts', 'line-breaks.txt'), `${[...lines].sort().join('\n')}\n`)
