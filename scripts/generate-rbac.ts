/**
 * Generates the default roles and bindings from the table of facts: one object a line, without what all of them have.
 * `node scripts/generate-rbac.ts [--check]`
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { factsDirectory, writeOrCheck } from './generated-files.ts'

type Fact = {
  kind: string
  metadata: { name: string; namespace?: string; labels: Record<string, string> }
  rules?: unknown[] | null
  aggregationRule?: unknown
  roleRef?: { kind: string; name: string }
  subjects?: Record<string, string>[]
}

const facts = JSON.parse(readFileSync(join(factsDirectory, 'rbac-defaults.json'), 'utf8')) as Fact[]
const lines = facts.map((fact) => {
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
writeOrCheck(new Map([['src/apiserver/authz/rbac/default-roles.gen.json', `[\n${lines.join(',\n')}\n]\n`]]))

function subjectText({ kind = '', namespace, name = '' }: Record<string, string>): string {
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/')
}
