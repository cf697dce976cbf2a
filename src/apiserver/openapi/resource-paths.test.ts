import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allVerbs } from '#api/kind.ts'
import { builtInKinds } from '#api/kinds.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { PathItem } from './operation.ts'
import { resourcePaths } from './resource-paths.ts'

function pathsOf(group: string, version: string, plural: string): PathItem[] {
  const definition = builtInKinds.find((each) => each.group === group && each.version === version && each.plural === plural)
  return [...resourcePaths(definition as ResourceDefinition)]
}

const ids = (items: PathItem[]) => Object.fromEntries(items.map(({ path, operations }) => [path, operations.map(({ id }) => id)]))

test('a namespaced resource has paths for one namespace, for all, for one object, and for old watches', () => {
  const root = '/apis/policy/v1'
  assert.deepEqual(ids(pathsOf('policy', 'v1', 'poddisruptionbudgets')), {
    [`${root}/namespaces/{namespace}/poddisruptionbudgets`]: [
      'deletePolicyV1CollectionNamespacedPodDisruptionBudget',
      'listPolicyV1NamespacedPodDisruptionBudget',
      'createPolicyV1NamespacedPodDisruptionBudget',
    ],
    [`${root}/namespaces/{namespace}/poddisruptionbudgets/{name}`]: [
      'deletePolicyV1NamespacedPodDisruptionBudget',
      'readPolicyV1NamespacedPodDisruptionBudget',
      'patchPolicyV1NamespacedPodDisruptionBudget',
      'replacePolicyV1NamespacedPodDisruptionBudget',
    ],
    [`${root}/namespaces/{namespace}/poddisruptionbudgets/{name}/status`]: [
      'readPolicyV1NamespacedPodDisruptionBudgetStatus',
      'patchPolicyV1NamespacedPodDisruptionBudgetStatus',
      'replacePolicyV1NamespacedPodDisruptionBudgetStatus',
    ],
    [`${root}/poddisruptionbudgets`]: ['listPolicyV1PodDisruptionBudgetForAllNamespaces'],
    [`${root}/watch/namespaces/{namespace}/poddisruptionbudgets`]: ['watchPolicyV1NamespacedPodDisruptionBudgetList'],
    [`${root}/watch/namespaces/{namespace}/poddisruptionbudgets/{name}`]: ['watchPolicyV1NamespacedPodDisruptionBudget'],
    [`${root}/watch/poddisruptionbudgets`]: ['watchPolicyV1PodDisruptionBudgetListForAllNamespaces'],
  })
})

test('a resource that can only be created has one operation', () => {
  assert.deepEqual(ids(pathsOf('authentication.k8s.io', 'v1', 'tokenreviews')), {
    '/apis/authentication.k8s.io/v1/tokenreviews': ['createAuthenticationV1TokenReview'],
  })
})

test('proxies take every method, and paths behind them', () => {
  const items = pathsOf('', 'v1', 'nodes').filter(({ path }) => path.includes('/proxy'))
  assert.deepEqual(
    items.map(({ path, operations }) => [path, operations.length]),
    [
      ['/api/v1/nodes/{name}/proxy', 7],
      ['/api/v1/nodes/{name}/proxy/{path}', 7],
    ],
  )
})

test('subresources of another kind say so', () => {
  const kinds = pathsOf('', 'v1', 'pods').flatMap(({ path, operations }) => {
    const [kind] = operations.map((operation) => operation.kind)
    return /(eviction|exec|log)$/.test(path) ? [[path.slice(path.lastIndexOf('/') + 1), kind?.group, kind?.version, kind?.kind]] : []
  })
  assert.deepEqual(kinds.sort(), [
    ['eviction', 'policy', 'v1', 'Eviction'],
    ['exec', '', 'v1', 'PodExecOptions'],
    ['log', '', 'v1', 'Pod'],
  ])
})

// kubectl asks the documents whether a server knows these, and does without where it does not.
test('every patch tells that it takes dryRun and fieldValidation', () => {
  for (const definition of builtInKinds) {
    for (const { path, operations } of resourcePaths(definition)) {
      for (const { action, parameters, id } of operations) {
        if (action !== 'patch') continue
        const names = parameters.map(({ name }) => name)
        assert.ok(names.includes('dryRun') && names.includes('fieldValidation') && names.includes('force'), `${path} ${id}`)
      }
    }
  }
})

test('no two operations of a version have one id, and every verb has its operation', () => {
  const seen = new Map<string, string>()
  for (const definition of builtInKinds) {
    const actions = new Set<string | undefined>()
    for (const { path, operations } of resourcePaths(definition)) {
      for (const { id, action } of operations) {
        assert.equal(seen.get(id), undefined, `${id} of ${path}`)
        seen.set(id, path)
        actions.add(action)
      }
    }
    for (const verb of definition.verbs ?? allVerbs) {
      const action = { create: 'post', update: 'put', watch: 'watchlist' }[verb as string] ?? verb
      assert.ok(actions.has(action), `${definition.plural}: ${verb}`)
    }
  }
})
