/** Collects the descriptions of types, fields and parameters into the files that are packaged: `node scripts/describe-api.ts`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Descriptions, descriptionsPath } from '#api/schema/descriptions.ts'
import { schemaNames } from '#api/schema/schema.ts'
import { parameterTexts, parameterTextsPath } from '#apiserver/openapi/parameter-texts.ts'

const repository = join(import.meta.dirname, '..')

function readTypings(path: string): string | undefined {
  // Not what an earlier run has written.
  if (path === descriptionsPath) return undefined
  try {
    return readFileSync(join(repository, path), 'utf8')
  } catch {
    return undefined
  }
}

const descriptions = new Descriptions(readTypings)
const collected: Record<string, Record<string, string>> = {}
for (const name of schemaNames().sort()) {
  const described = Object.fromEntries(descriptions.ofType(name))
  if (Object.keys(described).length > 0) collected[name] = described
}
const target = join(repository, descriptionsPath)
mkdirSync(dirname(target), { recursive: true })
writeFileSync(target, JSON.stringify(collected))
console.log(`${descriptionsPath}: ${Object.keys(collected).length} types`)

writeFileSync(join(repository, parameterTextsPath), JSON.stringify(parameterTexts(readTypings)))
