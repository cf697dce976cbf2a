/**
 * What a user of kubectl sees of a cluster, however it is run: in one process, as components in processes of their own, or as several
 * control planes on several machines. A table: each row is run against each of them, in order, and none needs pods that really run.
 */
import assert from 'node:assert/strict'
import type { KubectlResult } from './kubectl.ts'

export type AskKubectl = (args: readonly string[], input?: string) => KubectlResult

export type SameEverywhere = { name: string; run(cluster: Cluster): void }

const namespace = 'same-everywhere'

/** A cluster, as kubectl reaches it. */
class Cluster {
  readonly ask: AskKubectl

  constructor(ask: AskKubectl) {
    this.ask = ask
  }

  ok(command: string, input?: object | readonly object[]): string {
    const documents = input === undefined ? undefined : [input].flat().map((each) => JSON.stringify(each))
    const { exitCode, stdout, stderr } = this.ask(['-n', namespace, ...command.split(' ')], documents?.join('\n---\n'))
    assert.equal(exitCode, 0, `kubectl ${command}\n${stdout}\n${stderr}`)
    return stdout.trim()
  }

  refused(command: string, input?: object): string {
    const { exitCode, stderr } = this.ask(['-n', namespace, ...command.split(' ')], input && JSON.stringify(input))
    assert.notEqual(exitCode, 0, `kubectl ${command}`)
    return stderr
  }
}

const labels = { app: 'web' }
const containers = [{ name: 'main', image: 'host', command: ['sleep', '1000'] }]
const tolerations = [{ operator: 'Exists' }]
const named = (apiVersion: string, kind: string, name: string, rest: object = {}) => ({ apiVersion, kind, metadata: { name }, ...rest })
const group = 'rbac.authorization.k8s.io'
const roleRef = { apiGroup: group, kind: 'Role', name: 'reader' }

const objects = [
  named('v1', 'ConfigMap', 'settings', { data: { a: '1' } }),
  named('v1', 'ServiceAccount', 'reader'),
  named(`${group}/v1`, 'Role', 'reader', { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] }),
  named(`${group}/v1`, 'RoleBinding', 'reader', { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }] }),
  named('v1', 'ResourceQuota', 'few', { spec: { hard: { pods: '2' } } }),
  named('v1', 'Service', 'web', { spec: { selector: labels, ports: [{ port: 80 }] } }),
]
const deployment = named('apps/v1', 'Deployment', 'web', {
  spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers, tolerations } } },
})

const definition = named('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'crontabs.same.example.com', {
  spec: {
    group: 'same.example.com',
    names: { kind: 'CronTab', plural: 'crontabs', shortNames: ['ct'] },
    scope: 'Namespaced',
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } } } },
        },
      },
    ],
  },
})

export const sameEverywhere: readonly SameEverywhere[] = [
  {
    name: 'objects are made, and controllers give a namespace what it needs',
    run(cluster) {
      cluster.ok(`create namespace ${namespace}`)
      cluster.ok('wait --for=create serviceaccount/default configmap/kube-root-ca.crt --timeout=60s')
      assert.equal(cluster.ok('apply -f -', objects).split('\n').length, objects.length)
    },
  },
  {
    name: 'pods are made up to the quota and placed, and a service knows them',
    run(cluster) {
      // Of several API servers, the one that the controllers ask may not have heard of the quota yet: then it lets all pods pass.
      cluster.ok('wait --for=jsonpath={.status.hard.pods}=2 resourcequota/few --timeout=60s')
      cluster.ok('apply -f -', deployment)
      cluster.ok('wait --for=jsonpath={.status.used.pods}=2 resourcequota/few --timeout=60s')
      // They are counted before they are made.
      cluster.ok('wait --for=create pod -l app=web --timeout=60s')
      cluster.ok('wait --for=condition=PodScheduled pod -l app=web --timeout=60s')
      cluster.ok('wait --for=condition=ReplicaFailure deployment/web --timeout=60s')
      cluster.ok('wait --for=create endpointslice -l kubernetes.io/service-name=web --timeout=60s')
    },
  },
  {
    name: 'who may do what is asked and answered',
    run(cluster) {
      const as = `--as=system:serviceaccount:${namespace}:reader`
      assert.equal(cluster.ok(`auth can-i get configmaps ${as}`), 'yes')
      assert.match(cluster.refused(`delete configmap settings ${as}`), /cannot delete resource "configmaps" in API group ""/)
    },
  },
  {
    name: 'what two want to own is a conflict',
    run(cluster) {
      const mine = named('v1', 'ConfigMap', 'settings', { data: { a: '2' } })
      assert.match(cluster.refused('apply --server-side --field-manager=other -f -', mine), /conflict/)
      cluster.ok('apply --server-side --field-manager=other --force-conflicts -f -', mine)
      assert.equal(cluster.ok('get configmap settings -o jsonpath={.data.a}'), '2')
    },
  },
  {
    name: 'a kind of one’s own is served and checked',
    run(cluster) {
      cluster.ok('apply -f -', definition)
      cluster.ok('wait --for=condition=Established crd/crontabs.same.example.com --timeout=60s')
      cluster.ok('apply -f -', named('same.example.com/v1', 'CronTab', 'mine', { spec: { n: 3 } }))
      const wrong = named('same.example.com/v1', 'CronTab', 'wrong', { spec: { n: 0 } })
      assert.match(cluster.refused('apply -f -', wrong), /spec\.n: Invalid value: 0/)
      assert.equal(cluster.ok('get ct mine -o jsonpath={.spec.n}'), '3')
    },
  },
  {
    name: 'all of it goes with its namespace',
    run(cluster) {
      cluster.ok('scale deployment web --replicas=0')
      cluster.ok('wait --for=jsonpath={.spec.replicas}=0 replicaset -l app=web --timeout=60s')
      // Nobody ends pods on a node of paper.
      cluster.ok('delete pods --all --force --grace-period=0 --timeout=60s')
      cluster.ok(`delete namespace ${namespace} --timeout=60s`)
      cluster.ok('delete crd crontabs.same.example.com --timeout=60s')
    },
  },
]

/** Runs every row as a test of its own. */
export function testSameEverywhere(test: (name: string, run: () => void) => unknown, ask: AskKubectl): void {
  for (const { name, run } of sameEverywhere) test(`as everywhere: ${name}`, () => run(new Cluster(ask)))
}
