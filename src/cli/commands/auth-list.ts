/** `kubectl auth can-i --list` */
import type { Call } from '#cli/call.ts'
import { ruleText } from '#cli/describe/access-kinds.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'

type ResourceRule = { verbs: string[]; apiGroups?: string[]; resources?: string[]; resourceNames?: string[] }
type UrlRule = { verbs: string[]; nonResourceURLs?: string[] }
type Review = { status: { incomplete?: boolean; evaluationError?: string; resourceRules: ResourceRule[]; nonResourceRules: UrlRule[] } }
type Row = { group: string; resource: string; name: string; url: string; verbs: string[] }

export async function listAccess({ flags, host, session }: Call): Promise<void> {
  const rest = await session.rest
  const namespace = flags.isOn('all-namespaces') ? '' : await session.namespace()
  const body = { kind: 'SelfSubjectRulesReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec: { namespace } }
  const { status } = await rest.json<Review>({ method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', body })
  if (status.incomplete) host.complain(`Warning: the list may be incomplete: ${status.evaluationError ?? ''}\n`)
  const rows = compact(status)
  const out = new TabWriter()
  if (!flags.isOn('no-headers')) out.row(['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs'])
  for (const { group, resource, name, url, verbs } of rows)
    out.row([group === '' ? resource : `${resource}.${group}`, `[${url}]`, `[${name}]`, `[${verbs.join(' ')}]`])
  host.write(out.flush())
}

/** One row for each resource or URL, with all verbs that are allowed on it. */
function compact({ resourceRules, nonResourceRules }: Review['status']): Row[] {
  const rows = new Map<string, Row>()
  const add = (row: Omit<Row, 'verbs'>, verbs: readonly string[]) => {
    const key = JSON.stringify(row)
    const known = rows.get(key) ?? { ...row, verbs: [] }
    for (const verb of verbs) if (!known.verbs.includes(verb)) known.verbs.push(verb)
    rows.set(key, known)
  }
  for (const { verbs, apiGroups = [''], resources = [], resourceNames = [''] } of resourceRules)
    for (const group of apiGroups)
      for (const resource of resources)
        for (const name of resourceNames.length > 0 ? resourceNames : ['']) add({ group, resource, name, url: '' }, verbs)
  const urls: Row[] = []
  for (const { verbs, nonResourceURLs = [] } of nonResourceRules)
    for (const url of nonResourceURLs) urls.push({ group: '', resource: '', name: '', url, verbs })
  const text = (row: Row) => ruleText({ ...row, plain: row.resource })
  return [...rows.values(), ...urls].toSorted((one, other) => (text(one) < text(other) ? -1 : 1))
}
