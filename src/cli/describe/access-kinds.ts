import type { V1ClusterRole, V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import type { Description } from './description.ts'

export type Row = { group: string; plain: string; url: string; name: string; verbs: string[] }

/** `deployments.apps/scale` */
function resourceText(group: string, plain: string): string {
  const [resource, subresource] = plain.split('/')
  return `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
}

export function describeRole(out: Description, object: ApiObject): void {
  const { metadata, rules } = object as unknown as V1ClusterRole
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, 'PolicyRule:\n')
  out.write(1, 'Resources\tNon-Resource URLs\tResource Names\tVerbs\n')
  out.write(1, '---------\t-----------------\t--------------\t-----\n')
  const rows = new Map<string, Row>()
  const add = (group: string, plain: string, url: string, name: string, verbs: readonly string[]) => {
    const key = JSON.stringify([group, plain, url, name])
    const known = rows.get(key) ?? { group, plain, url, name, verbs: [] }
    for (const verb of verbs) if (!known.verbs.includes(verb)) known.verbs.push(verb)
    rows.set(key, known)
  }
  for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules ?? []) {
    for (const group of apiGroups)
      for (const resource of resources)
        for (const name of resourceNames.length > 0 ? resourceNames : ['']) add(group, resource, '', name, verbs)
    for (const url of nonResourceURLs) add('', '', url, '', verbs)
  }
  for (const { group, plain, url, name, verbs } of [...rows.values()].toSorted((one, other) => (ruleText(one) < ruleText(other) ? -1 : 1)))
    out.write(1, `${resourceText(group, plain)}\t[${url}]\t[${name}]\t[${verbs.join(' ')}]\n`)
}

/** As Go prints a rule: they are sorted by that. */
export const ruleText = ({ group, plain, url, name, verbs }: Row): string =>
  `&PolicyRule{Verbs:[${verbs.join(' ')}],APIGroups:[${group}],Resources:[${plain}],ResourceNames:[${name}],NonResourceURLs:[${url}],}`

export function describeBinding(out: Description, object: ApiObject): void {
  const { metadata, roleRef, subjects = [] } = object as unknown as V1RoleBinding
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, 'Role:\n')
  out.field(1, 'Kind', roleRef.kind)
  out.field(1, 'Name', roleRef.name)
  out.write(0, 'Subjects:\n')
  out.write(1, 'Kind\tName\tNamespace\n')
  out.write(1, '----\t----\t---------\n')
  for (const { kind, name, namespace = '' } of subjects) out.write(1, `${kind}\t${name}\t${namespace}\n`)
}
