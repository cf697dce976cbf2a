import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { convert, fromStored, listKindOf, Scheme, type SchemeChange, singularOf, storedDefinition, toStored } from './scheme.ts'

function define(group: string, version: string, kind: string, plural: string, more: Partial<ResourceDefinition> = {}): ResourceDefinition {
  return { group, version, kind, plural, scope: 'Namespaced', schema: '', ...more }
}

const pods = define('', 'v1', 'Pod', 'pods', { shortNames: ['po'], categories: ['all'] })
const coreEvents = define('', 'v1', 'Event', 'events', { shortNames: ['ev'] })
const events = define('events.k8s.io', 'v1', 'Event', 'events', { shortNames: ['ev'] })
const deployments = define('apps', 'v1', 'Deployment', 'deployments', { shortNames: ['deploy'], categories: ['all'] })
const oldDeployments = define('apps', 'v1beta1', 'Deployment', 'deployments', {
  categories: ['all'],
  storedAs: {
    definition: deployments,
    toStored: ({ old, ...rest }: KubernetesObject & { old: number }) => ({ ...rest, spec: { replicas: old } }),
    fromStored: ({ spec, ...rest }: KubernetesObject & { spec: { replicas: number } }) => ({ ...rest, old: spec.replicas }),
  },
})
const widgets = [
  define('example.com', 'v1alpha1', 'Widget', 'widgets', { singular: 'wdgt', listKind: 'Widgets' }),
  define('example.com', 'v2', 'Widget', 'widgets'),
]
const all = [oldDeployments, events, pods, ...widgets, deployments, coreEvents]

test('kinds are found by resource, by kind and by what an object says', () => {
  const scheme = new Scheme(all)
  assert.equal(scheme.byResource('apps', 'v1', 'deployments'), deployments)
  assert.equal(scheme.byResource('apps', 'v2', 'deployments'), undefined)
  assert.equal(scheme.byKind('', 'v1', 'Event'), coreEvents)
  assert.equal(scheme.of({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }), events)
  assert.equal(scheme.of({ apiVersion: 'a/b/c', kind: 'Event' }), undefined)
  assert.equal(scheme.of({}), undefined)
})

test('groups and versions come in the order of preference', () => {
  const scheme = new Scheme(all)
  assert.deepEqual(
    scheme.groups.map(({ group, versions }) => [group, versions.map(({ version }) => version)]),
    [
      ['', ['v1']],
      ['apps', ['v1', 'v1beta1']],
      ['events.k8s.io', ['v1']],
      ['example.com', ['v2', 'v1alpha1']],
    ],
  )
  assert.deepEqual(
    scheme.group('')?.versions[0].definitions.map(({ plural }) => plural),
    ['events', 'pods'],
  )
  assert.equal(scheme.preferred('apps', 'deployments'), deployments)
  assert.equal(scheme.preferred('apps', 'nope'), undefined)
  assert.equal([...scheme.definitions()].length, all.length)
})

test('a kind maps to the resource that serves it', () => {
  const scheme = new Scheme(all)
  assert.equal(scheme.mappingOf({ group: 'apps', kind: 'Deployment' }), deployments)
  assert.equal(scheme.mappingOf({ group: 'apps', kind: 'Deployment' }, ['v9', 'v1beta1']), oldDeployments)
  assert.equal(scheme.mappingOf({ group: 'apps', kind: 'Pod' }), undefined)
  assert.equal(scheme.mappingOf({ group: 'nope', kind: 'Pod' }), undefined)
})

test('what people type is resolved', () => {
  const scheme = new Scheme(all)
  const cases: [string, ResourceDefinition[]][] = [
    ['pods', [pods]],
    ['pod', [pods]],
    ['po', [pods]],
    ['Pod', [pods]],
    ['ev', [coreEvents, events]],
    ['events', [coreEvents, events]],
    ['events.events.k8s.io', [events]],
    ['events.v1.events.k8s.io', [events]],
    ['events.events', [events]],
    ['deploy', [deployments]],
    ['deployments.v1beta1.apps', [oldDeployments]],
    ['deployments.v7.apps', []],
    ['wdgt', [widgets[0] as ResourceDefinition]],
    ['widget', [widgets[1] as ResourceDefinition]],
    ['widgets.example', [widgets[1] as ResourceDefinition]],
    ['nope', []],
    ['', []],
  ]
  for (const [text, expected] of cases) assert.deepEqual(scheme.resolve(text), expected, text)
  assert.deepEqual(scheme.category('all'), [pods, deployments])
})

test('kinds come and go while the server runs', () => {
  const scheme = new Scheme([pods])
  let changes = 0
  const end = scheme.onChange(() => changes++)
  assert.equal(scheme.revision, 0)
  scheme.add(...widgets)
  assert.equal(scheme.resolve('widgets').length, 1)
  assert.equal(scheme.groups.length, 2)
  const replacement = define('example.com', 'v2', 'Gadget', 'widgets')
  scheme.add(replacement)
  assert.equal(scheme.byKind('example.com', 'v2', 'Widget'), undefined)
  assert.equal(scheme.byKind('example.com', 'v2', 'Gadget'), replacement)
  scheme.remove(...widgets)
  assert.equal(scheme.groups.length, 1)
  assert.equal(scheme.byResource('example.com', 'v2', 'widgets'), undefined)
  scheme.remove(...widgets)
  assert.equal(changes, 3)
  assert.equal(scheme.revision, 3)
  end()
  scheme.add(replacement)
  assert.equal(changes, 3)
})

test('who follows is told what came and what went, and what is replaced did both', () => {
  const scheme = new Scheme([pods, ...widgets])
  const changes: SchemeChange[] = []
  scheme.onChange((change) => changes.push(change))
  const replacement = define('example.com', 'v2', 'Gadget', 'widgets')
  const core = scheme.group('')
  scheme.update({ add: [replacement], remove: [widgets[0] as ResourceDefinition] })
  assert.deepEqual(changes, [{ added: [replacement], removed: widgets }])
  assert.equal(scheme.group(''), core)
  assert.deepEqual(
    scheme.group('example.com')?.versions.map(({ version }) => version),
    ['v2'],
  )
})

test('names that are not given follow from the kind', () => {
  assert.equal(singularOf(deployments), 'deployment')
  assert.equal(listKindOf(deployments), 'DeploymentList')
  assert.equal(singularOf(widgets[0] as ResourceDefinition), 'wdgt')
  assert.equal(listKindOf(widgets[0] as ResourceDefinition), 'Widgets')
})

test('versions convert through the stored one', () => {
  const old = () => ({ apiVersion: 'apps/v1beta1', kind: 'Deployment', metadata: { name: 'a' }, old: 3 })
  const stored = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { replicas: 3 } }
  assert.equal(storedDefinition(oldDeployments), deployments)
  assert.equal(storedDefinition(pods), pods)
  assert.deepEqual(toStored(old(), oldDeployments), stored)
  assert.deepEqual(fromStored({ ...stored }, oldDeployments), old())
  assert.deepEqual(convert(old(), oldDeployments, deployments), stored)
  assert.deepEqual(convert({ ...stored }, deployments, oldDeployments), old())
  const same = { ...stored }
  assert.equal(convert(same, deployments, deployments), same)
  assert.throws(() => convert(same, deployments, pods), { message: 'apps/v1 Deployment does not convert to v1 Pod' })
})

test('a scheme of 150 kinds is built and asked in no time', () => {
  const many = Array.from({ length: 150 }, (_, index) => define(`g${index % 25}.io`, 'v1', `K${index}`, `k${index}s`))
  const scheme = new Scheme(many)
  assert.equal(scheme.groups.length, 25)
  assert.equal(scheme.resolve('k149').length, 1)
})
