/**
 * Generates the default roles and bindings from the table of facts: one object a line, without what all of them have.
 *
 *   node scripts/generate-rbac.ts [FACTS-DIRECTORY]           writes the file
 *   node scripts/generate-rbac.ts --check [FACTS-DIRECTORY]   fails if it is out of date; passes where the facts are absent
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

type Fact = {
  kind: string
  metadata: { name: string; namespace?: string; labels: Record<string, string> }
  rules?: unknown[] | null
  aggregationRule?: unknown
  roleRef?: { kind: string; name: string }
  subjects?: Record<string, string>[]
}

const repository = join(import.meta.dirname, '..')
const target = join(repository, 'src/apiserver/authz/rbac/default-roles.gen.json')
const { values: options, positionals } = parseArgs({ options: { check: { type: 'boolean', default: false } }, allowPositionals: true })
const source = join(positionals[0] ?? join(repository, '../shared/api-facts'), 'rbac-defaults.json')

if (!existsSync(source)) {
  console.log(`no facts at ${source}: nothing to generate from`)
  process.exit(options.check ? 0 : 1)
}

const lines = (JSON.parse(readFileSync(source, 'utf8')) as Fact[]).map((fact) => {
  const { name, namespace, labels } = fact.metadata
  const { 'kubernetes.io/bootstrapping': _, ...otherLabels } = labels
  return JSON.stringify({
    kind: fact.kind,
    namespace,
    name,
    ...(Object.keys(otherLabels).length === 0 ? {} : { labels: otherLabels }),
    ...(fact.rules === undefined ? {} : { rules: fact.rules }),
    aggregationRule: fact.aggregationRule,
    ...(fact.roleRef === undefined ? {} : { role: `${fact.roleRef.kind}/${fact.roleRef.name}` }),
    ...(fact.subjects === undefined ? {} : { subjects: fact.subjects.map(subjectText) }),
  })
})
const text = `[\n${lines.join(',\n')}\n]\n`

const isStale = !existsSync(target) || readFileSync(target, 'utf8') !== text
if (isStale && !options.check) writeFileSync(target, text)
if (isStale) console.log(`${options.check ? 'out of date' : 'wrote'}: ${target}`)
process.exit(isStale && options.check ? 1 : 0)

function subjectText({ kind = '', namespace, name = '' }: Record<string, string>): string {
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/')
}
