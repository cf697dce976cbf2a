/**
 * Generates the types, the kinds and the schema of the API from the tables of facts.
 *
 *   node scripts/generate-api.ts [FACTS-DIRECTORY]           writes what is out of date
 *   node scripts/generate-api.ts --check [FACTS-DIRECTORY]   fails if anything is
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { readFacts } from './generate-api/facts.ts'
import { buildModel } from './generate-api/model.ts'
import { kindFiles } from './generate-api/write-kinds.ts'
import { schemaFile } from './generate-api/write-schema.ts'
import { typeFiles } from './generate-api/write-types.ts'

const repository = join(import.meta.dirname, '..')
const { values: options, positionals } = parseArgs({ options: { check: { type: 'boolean', default: false } }, allowPositionals: true })
const directory = positionals[0] ?? join(repository, 'facts')

const facts = readFacts(directory)
const model = buildModel(facts)
const files = new Map([...typeFiles(model), ...kindFiles(facts.resources), ['schema/schema.gen.ts', schemaFile(model)] as const])

const stale = [...files].filter(([path, text]) => {
  const target = join(repository, 'src/api', path)
  return !existsSync(target) || readFileSync(target, 'utf8') !== text
})
for (const [path, text] of stale) {
  const target = join(repository, 'src/api', path)
  if (!options.check) {
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  console.log(`${options.check ? 'out of date' : 'wrote'}: src/api/${path}`)
}
if (options.check && stale.length > 0) process.exit(1)
