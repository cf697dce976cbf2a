import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { Forbidden } from '#apiserver/authz/forbidden.ts'
import { uncoveredRules } from '#apiserver/authz/rbac/covers.ts'
import { EscalationCheck } from '#apiserver/authz/rbac/escalation.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'
import { seededRandom } from '#base/random.ts'

const group = 'rbac.authorization.k8s.io'
const jane: UserInfo = { name: 'jane', groups: ['devs', 'system:authenticated'], extra: {} }
const pods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }

/** Jane holds `held` in the namespace `ns`, or everywhere. */
function check(held: PolicyRule[], where: 'ns' | '' = 'ns'): EscalationCheck {
  const rbac = new RbacAuthorizer()
  rbac.upsert('ClusterRole', { metadata: { name: 'held' }, rules: held })
  const binding = { roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'held' }, subjects: [{ kind: 'User', name: 'jane' }] }
  if (where === '') rbac.upsert('ClusterRoleBinding', { metadata: { name: 'jane' }, ...binding })
  else rbac.upsert('RoleBinding', { metadata: { name: 'jane', namespace: where }, ...binding })
  rbac.upsert('ClusterRole', { metadata: { name: 'small' }, rules: [pods] })
  rbac.upsert('ClusterRole', { metadata: { name: 'big' }, rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] })
  return new EscalationCheck(rbac, rbac)
}
const write = { user: jane, namespace: 'ns', requestName: '' }
const role = (...rules: PolicyRule[]) => ({ metadata: { name: 'r', namespace: 'ns' }, rules })
const bindingTo = (name: string) => ({
  metadata: { name: 'b', namespace: 'ns' },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name },
  subjects: [{ kind: 'User', name: 'jack' }],
})

test('who holds a permission may put it into a role', async () => {
  await check([pods]).role(write, 'roles', role({ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['x'] }))
  await check([pods], '').role({ ...write, namespace: '' }, 'clusterroles', role(pods))
})

test("who does not is told what is missing, in upstream's words", async () => {
  const asked = role(
    pods,
    { verbs: ['get', 'delete'], apiGroups: [''], resources: ['secrets', 'nodes'] },
    { verbs: ['get'], nonResourceURLs: ['/x'] },
  )
  await assert.rejects(check([pods]).role(write, 'roles', asked), (error) => {
    assert.ok(error instanceof Forbidden)
    assert.equal(
      error.message,
      'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "delete"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}\n' +
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    )
    assert.deepEqual(error.status.details, { name: 'r', group, kind: 'roles' })
    return true
  })
})

test('what is held in a namespace cannot be given out everywhere', async () => {
  await assert.rejects(check([pods]).role({ ...write, namespace: '' }, 'clusterroles', role(pods)), /permissions not currently held/)
})

const trusted: PolicyRule[][] = [
  [{ verbs: ['escalate'], apiGroups: [group], resources: ['roles'] }],
  [{ verbs: ['*'], apiGroups: [group], resources: ['roles'] }],
]
for (const held of trusted) {
  test(`${held[0]?.verbs} on roles lets one write any role, and no other kind`, async () => {
    await check(held).role(write, 'roles', role({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }))
    await assert.rejects(check(held, '').role({ ...write, namespace: '' }, 'clusterroles', role(pods)), /not currently held/)
  })
}

test('escalate may be limited to a role by name', async () => {
  const held = [{ verbs: ['escalate'], apiGroups: [group], resources: ['roles'], resourceNames: ['r'] }]
  await check(held).role({ ...write, requestName: 'r' }, 'roles', role(pods))
  await assert.rejects(check(held).role({ ...write, requestName: 'other' }, 'roles', role(pods)), /not currently held/)
})

test('members of system:masters may do anything', async () => {
  const user = { ...jane, groups: ['system:masters'] }
  await check([]).role({ ...write, user }, 'roles', role({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }))
  await check([]).binding({ ...write, user }, 'rolebindings', bindingTo('big'))
})

test('a binding gives what its role holds: one must hold it, or be allowed to bind it', async () => {
  await check([pods]).binding(write, 'rolebindings', bindingTo('small'))
  await assert.rejects(
    check([pods]).binding(write, 'rolebindings', bindingTo('big')),
    /rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "jane" .* is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}$/,
  )
  await check([{ verbs: ['bind'], apiGroups: [group], resources: ['clusterroles'], resourceNames: ['big'] }]).binding(
    write,
    'rolebindings',
    bindingTo('big'),
  )
  await assert.rejects(
    check([{ verbs: ['bind'], apiGroups: [group], resources: ['clusterroles'], resourceNames: ['big'] }]).binding(
      write,
      'rolebindings',
      bindingTo('small'),
    ),
    /not currently held/,
  )
})

test('a role that is not there cannot be bound without permission to bind it', async () => {
  await assert.rejects(
    check([pods]).binding(write, 'rolebindings', bindingTo('nope')),
    /^StatusError: clusterroles.rbac.authorization.k8s.io "nope" not found$/,
  )
  await check([{ verbs: ['bind'], apiGroups: [group], resources: ['clusterroles'] }]).binding(write, 'rolebindings', bindingTo('nope'))
})

test('only who holds everything may gather rules, or touch a role that does', async () => {
  const gathering = { ...role(), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
  const everything = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ]
  const cluster = { ...write, namespace: '' }
  await assert.rejects(
    check([pods], '').role(cluster, 'clusterroles', gathering),
    /must have cluster-admin privileges to use the aggregationRule/,
  )
  await assert.rejects(check([pods], '').role(cluster, 'clusterroles', role(pods), gathering), /must have cluster-admin privileges/)
  await check(everything, '').role(cluster, 'clusterroles', gathering)
})

test('taking finalizers and owners off is no escalation', async () => {
  const old = { ...bindingTo('big'), metadata: { name: 'b', namespace: 'ns', finalizers: ['x'], ownerReferences: [{ name: 'o' }] } }
  await check([]).binding(write, 'rolebindings', bindingTo('big'), old)
  await assert.rejects(check([]).binding(write, 'rolebindings', { ...bindingTo('big'), subjects: [] }, old), /not currently held/)
})

const coverage: [string, PolicyRule[], PolicyRule, number][] = [
  ['a part of what is held', [pods], { verbs: ['get'], apiGroups: [''], resources: ['pods'] }, 0],
  ['more verbs', [pods], { verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods'] }, 1],
  ['any verb', [pods], { verbs: ['*'], apiGroups: [''], resources: ['pods'] }, 1],
  [
    'two halves together',
    [pods, { verbs: ['delete'], apiGroups: [''], resources: ['pods'] }],
    { verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods'] },
    0,
  ],
  ['all names where one is held', [{ ...pods, resourceNames: ['a'] }], pods, 2],
  ['one name where all are held', [pods], { ...pods, resourceNames: ['a'] }, 0],
  ['another name', [{ ...pods, resourceNames: ['a'] }], { ...pods, resourceNames: ['a', 'b'] }, 2],
  [
    'a subresource under a star',
    [{ verbs: ['get'], apiGroups: [''], resources: ['*/log'] }],
    { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] },
    0,
  ],
  ['a path under a star', [{ verbs: ['get'], nonResourceURLs: ['/api/*'] }], { verbs: ['get'], nonResourceURLs: ['/api/v1', '/apis'] }, 1],
  ['a longer star', [{ verbs: ['get'], nonResourceURLs: ['/api/*'] }], { verbs: ['get'], nonResourceURLs: ['/api/v1/*'] }, 0],
]
for (const [what, held, wanted, missing] of coverage) {
  test(`${what}: ${missing} parts are not covered`, () => assert.equal(uncoveredRules(held, [wanted]).length, missing))
}

test('what is covered is what a search through every combination says', () => {
  const seed = Date.now() % 1_000_000
  const random = seededRandom(seed)
  const some = (values: readonly string[]) => values.filter(() => random.float() < 0.4)
  const rule = (): PolicyRule =>
    random.float() < 0.2
      ? { verbs: some(['get', 'put', '*']), nonResourceURLs: some(['/a', '/a/b', '/a/*', '/a/**', '*', '/b']) }
      : {
          verbs: some(['get', 'put', 'list', '*']),
          apiGroups: some(['', 'apps', 'x', '*']),
          resources: some(['pods', 'pods/log', 'x/log', '*/log', '*']),
          resourceNames: random.float() < 0.5 ? some(['a', 'b', 'c']) : [],
        }
  for (let round = 0; round < 500; round++) {
    const held = Array.from({ length: random.int(4) }, rule)
    const wanted = Array.from({ length: random.int(3) }, rule)
    const message = `seed ${seed}: ${JSON.stringify({ held, wanted })}`
    assert.deepEqual(uncoveredRules(held, wanted), searched(held, wanted), message)
  }
})

function searched(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const parts = wanted.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => {
          const part = { apiGroups: [group], resources: [resource], verbs: [verb] }
          return resourceNames.length === 0 ? [part] : resourceNames.map((name) => ({ ...part, resourceNames: [name] }))
        }),
      ),
    ),
    ...nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] }))),
  ])
  const has = (values: readonly string[] = [], value: string | undefined) => values.includes('*') || values.includes(value ?? '')
  const allows = (rule: PolicyRule, { verbs: [verb], ...part }: PolicyRule) => {
    if (!has(rule.verbs, verb)) return false
    const url = part.nonResourceURLs?.[0]
    if (url !== undefined) {
      return (rule.nonResourceURLs ?? []).some((one) => one === url || (one.endsWith('*') && url.startsWith(one.replace(/\*+$/, ''))))
    }
    const [resource = ''] = part.resources ?? []
    const isNamed =
      has(rule.resources, resource) || (resource.includes('/') && (rule.resources ?? []).includes(`*/${resource.split('/')[1]}`))
    const names = rule.resourceNames ?? []
    const [name] = part.resourceNames ?? []
    return has(rule.apiGroups, part.apiGroups?.[0]) && isNamed && (names.length === 0 || (name !== undefined && names.includes(name)))
  }
  return parts.filter((part) => !held.some((rule) => allows(rule, part)))
}

const many = (prefix: string, count = 200) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const product = { verbs: many('v'), apiGroups: many('g'), resources: many('r'), resourceNames: many('n') }

test('a rule of a billion combinations is looked at only as far as it needs to be', async () => {
  await check([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]).role(write, 'roles', role(product))
  await check([product]).role(write, 'roles', role(product))
  await assert.rejects(check([pods]).role(write, 'roles', role(product)), (error) => {
    assert.match(String(error), /not currently held:\n\{APIGroups:\["g0"\], Resources:\["r0"\], ResourceNames:\["n0"\], Verbs:\["v0" /)
    assert.match(String(error), /\}\nand more$/)
    assert.ok(String(error).length < 1_000_000)
    return true
  })
  const halves = [product.verbs.slice(0, 100), product.verbs.slice(100)].map((verbs) => ({ ...product, verbs }))
  await assert.rejects(check(halves).role(write, 'roles', role(product)), /"r" is forbidden: the rules have too many combinations/)
})

test('others have their turn while a role is compared', async () => {
  let turns = 0
  const giveWay = () => {
    turns++
    return undefined
  }
  const rules = many('v', 2000).map((verb) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] }))
  await assert.rejects(check(rules).role({ ...write, giveWay }, 'roles', role(...rules, { ...pods, verbs: ['fly'] })), /"fly"/)
  assert.ok(turns > 100, `${turns}`)
})
