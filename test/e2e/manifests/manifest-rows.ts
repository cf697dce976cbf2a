/** One entry for each row of test/manifests/README.md: what is done with the file, and what is to be seen afterwards. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { CalicoNetworkPolicy, IPPool } from '#network/calico/definitions.ts'
import {
  flagsAreKnownOrNamed,
  flannelPluginReads,
  isVxlanPeer,
  kubeletTakes,
  networkIs,
  pluginRefuses,
  routesAre,
  schedulerTakes,
} from './file-checks.ts'
import { type ManifestTools, manifestsOf, type Seen } from './manifest-tools.ts'

export type Row = {
  /** `create` comes back and goes again; `refuse` names what the refusal says; `read` is no object: its check is all there is. What is refused is checked afterwards. */
  does: 'create' | 'replace' | 'read' | { refuse: RegExp }
  /** Where a controller removes an object at once: then it is not looked at before the check. */
  vanishes?: true
  /** How a file to be refused is brought in, where not by `create`. */
  verb?: 'replace'
  /** Files that must be there first. */
  after?: readonly string[]
  /** What is seen, on a cluster with simulated nodes; `warnings` is what kubectl said beside the answer. */
  check?: (cluster: ManifestTools, warnings: string) => void | Promise<void>
  /** The part that is not there yet, without which the rest of the row cannot be checked. */
  awaits?: string
}

type CustomKind = { kind: string; definition: V1CustomResourceDefinition }

const noMatch = { refuse: /no matches for kind/ }
const json = (cluster: ManifestTools, file: string): Seen => JSON.parse(readFileSync(cluster.path(file), 'utf8'))
const runs = (cluster: ManifestTools, ...pods: string[]) => cluster.wait('condition=Ready', pods.map((name) => `pod/${name}`).join(' '))
const podsOf = (cluster: ManifestTools, label: string): Seen[] => cluster.get(`pods -l ${label}`).items
const pod = (name: string, spec: object = {}, metadata: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })

export const rows: Readonly<Record<string, Row>> = {
  '01-node-cordon.yaml': { does: 'create', check: (cluster) => assert.match(cluster.ok('get node node1'), /SchedulingDisabled/) },
  '02-pod-hostport.yaml': { does: 'create', check: (cluster) => runs(cluster, 'podexample') },
  '03-pod-command.yaml': { does: 'create' },
  '04-pod-shared-volume.yaml': { does: 'create' },
  '05-pod-nodeselector.yaml': {
    does: 'create',
    check(cluster) {
      cluster.wait('jsonpath={.status.conditions[0].reason}=Unschedulable', 'pod/podexample')
      const [node] = cluster.get('nodes').items.filter(isSimulated)
      cluster.ok(`label node ${node.metadata.name} env=test`)
      runs(cluster, 'podexample')
      assert.equal(cluster.get('pod podexample').spec.nodeName, node.metadata.name)
      cluster.ok(`label node ${node.metadata.name} env-`)
    },
  },
  '06-pod-tolerations.yaml': {
    does: 'create',
    check(cluster) {
      cluster.ok('delete pod podtolerant --now')
      cluster.ok('taint node --all system=service:NoSchedule')
      cluster.ok('create -f -', pod('intolerant'))
      cluster.ok(`create -f ${cluster.path('06-pod-tolerations.yaml')}`)
      runs(cluster, 'podtolerant')
      cluster.wait('jsonpath={.status.conditions[0].reason}=Unschedulable', 'pod/intolerant')
      cluster.ok('taint node --all system-')
      runs(cluster, 'intolerant')
      cluster.ok('delete pod intolerant --now')
    },
  },
  '07-pod-lifecycle.yaml': { does: 'create' },
  '08-pod-privileged.yaml': { does: 'create' },
  '09-podsecuritypolicy.yaml': { does: 'create' },
  '10-pod-probes-resources.yaml': {
    does: 'create',
    check(cluster) {
      runs(cluster, 'readiness-tcp')
      assert.equal(cluster.get('pod db').status.qosClass, 'Burstable')
    },
  },
  '11-rc.yaml': {
    does: 'create',
    check(cluster) {
      cluster.wait('jsonpath={.status.readyReplicas}=2', 'rc/httpd')
      assert.equal(podsOf(cluster, 'app=httpd').length, 2)
    },
  },
  '12-hpa-v1.yaml': {
    does: 'create',
    check(cluster) {
      const template = { metadata: { labels: { app: 'nginx' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
      const spec = { replicas: 1, selector: { app: 'nginx' }, template }
      cluster.ok('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'nginx' }, spec }))
      // It is found without an apiVersion, and has fewer replicas than the least that are allowed.
      cluster.wait('jsonpath={.spec.replicas}=3', 'rc/nginx')
      cluster.wait('jsonpath={.status.conditions[?(@.type=="AbleToScale")].reason}=FailedGetScale', 'hpa/nginxd')
      cluster.ok('delete rc nginx --now')
    },
  },
  '13-hpa-v2beta1.yaml': {
    does: 'create',
    check(cluster) {
      const { items } = cluster.get('hpa.v2.autoscaling')
      const types = items.flatMap(({ spec }: Seen) => spec.metrics.map(({ type }: Seen) => type))
      assert.deepEqual([...new Set(types)].sort(), ['External', 'Object', 'Pods', 'Resource'])
    },
  },
  '14-deployment-extensions-v1beta1.yaml': {
    does: 'create',
    check(cluster) {
      const [{ spec }] = cluster.get('deployments.v1.apps').items
      assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels)
    },
  },
  '15-job.yaml': {
    does: 'create',
    check(cluster) {
      const { spec } = cluster.get('job.v1.batch pi')
      assert.deepEqual([spec.manualSelector, spec.completions, spec.parallelism], [true, 4, 1])
      cluster.wait('condition=Complete', 'job/pi')
      assert.equal(cluster.get('job pi').status.succeeded, 4)
    },
  },
  '16-service.yaml': {
    does: 'create',
    check: (cluster) => assert.match(cluster.get('services').items.find(isNotKubernetes).spec.clusterIP, /^10\.96\./),
  },
  '17-service-external-endpoints.yaml': {
    does: 'create',
    check(cluster) {
      assert.equal(cluster.get('endpoints mysql').subsets[0].addresses[0].ip, '192.168.3.180')
      cluster.wait('create', 'endpointslice -l kubernetes.io/service-name=mysql')
      const [slice] = cluster.get('endpointslice -l kubernetes.io/service-name=mysql').items
      assert.deepEqual([slice.endpoints[0].addresses, slice.ports[0].port], [['192.168.3.180'], 3060])
    },
  },
  '18-service-nodeport.yaml': {
    does: 'create',
    check(cluster) {
      const [port] = cluster.get('service httpd').spec.ports
      assert.deepEqual([port.nodePort, port.targetPort], [32143, 80])
    },
  },
  '19-service-loadbalancer.yaml': {
    does: { refuse: /failed to allocate IP 10\.0\.171\.239: the provided network does not match the current range/ },
  },
  '20-ingress-extensions-v1beta1.yaml': {
    does: 'create',
    check(cluster) {
      const [path] = cluster.get('ingress.v1.networking.k8s.io httpd').spec.rules[0].http.paths
      assert.deepEqual([path.pathType, path.backend.service.port.number], ['ImplementationSpecific', 80])
    },
  },
  '21-volumes.yaml': { does: 'create' },
  '22-namespace.yaml': { does: 'create', check: (cluster) => cluster.wait('jsonpath={.status.phase}=Active', 'namespace/development') },
  '23-daemonset-extensions-v1beta1.yaml': {
    does: 'create',
    check(cluster) {
      assert.equal(cluster.get('daemonset.v1.apps fluentd').spec.updateStrategy.type, 'OnDelete')
      const nodes = cluster.get('nodes').items.filter(isSimulated).length
      cluster.wait(`jsonpath={.status.numberReady}=${nodes}`, 'daemonset/fluentd')
    },
  },
  '24-podpreset.yaml': { does: 'create' },
  '25-resourcequota.yaml': {
    does: 'create',
    check(cluster, warnings) {
      assert.match(warnings, /requests\.memory.*limits\.memory|limits\.memory.*requests\.memory/)
      cluster.wait('jsonpath={.status.hard.pods}=10', 'quota/compute-resources -n development')
      assert.match(
        cluster.refused(['create', '-n', 'development', '-f', '-'], pod('bare')),
        /failed quota: compute-resources: must specify/,
      )
    },
  },
  '26-limitrange.yaml': {
    does: 'create',
    check(cluster) {
      cluster.ok('create -n dev -f -', pod('bare'))
      const { resources } = cluster.get('pod bare -n dev').spec.containers[0]
      assert.deepEqual(resources, { limits: { cpu: '300m', memory: '200Mi' }, requests: { cpu: '200m', memory: '100Mi' } })
      cluster.ok('delete pod bare -n dev --now')
    },
  },
  '27-configmap.yaml': { does: 'create' },
  '28-secret-and-users.yaml': { does: 'create', check: (cluster) => runs(cluster, 'mypod') },
  '29-networkpolicies.yaml': { does: 'create' },
  '30-rbac.yaml': {
    does: 'create',
    check(cluster) {
      assert.equal(cluster.get('rolebinding read-pods').roleRef.apiGroup, 'rbac.authorization.k8s.io')
      const may = [
        cluster.mayDo('jane', 'get', 'pods', 'default'),
        cluster.mayDo('jane', 'get', 'pods', 'development'),
        cluster.mayDo('dave', 'get', 'secrets', 'development'),
        cluster.mayDo('dave', 'get', 'secrets', 'default'),
      ]
      assert.deepEqual(may, [true, false, true, false])
    },
  },
  '31-crd-v1beta1.yaml': {
    does: 'create',
    check: (cluster) => cluster.wait('condition=Established', 'crd/foos.samplecontroller.k8s.io'),
  },
  '32-custom-resource.yaml': {
    does: 'create',
    after: ['31-crd-v1beta1.yaml'],
    check: (cluster) => assert.equal(cluster.get('foo example-foo').spec.deploymentName, 'example-foo'),
  },
  '33-vpa.yaml': {
    does: noMatch,
    check(cluster) {
      const definition = vpaDefinition()
      cluster.ok('create -f -', definition)
      cluster.wait('condition=Established', 'crd/verticalpodautoscalers.poc.autoscaling.k8s.io')
      cluster.ok(`create -f ${cluster.path('33-vpa.yaml')}`)
      assert.equal(cluster.get('verticalpodautoscaler my-app-vpa').spec.updatePolicy.updateMode, 'Auto')
      cluster.ok('delete -f -', definition)
    },
  },
  '34-kubelet-config.yaml': { does: 'read', check: (cluster) => kubeletTakes(cluster, '34-kubelet-config.yaml') },
  '35-affinity.yaml': {
    does: 'create',
    check(cluster) {
      runs(cluster, 'podaffinity')
      cluster.ok('delete pod podaffinity --now')
      const node = cluster.get('nodes').items.findLast(isSimulated).metadata.name
      cluster.ok(`label node ${node} env=test`)
      cluster.ok(`create -f ${cluster.path('35-affinity.yaml')}`)
      runs(cluster, 'podaffinity')
      assert.equal(cluster.get('pod podaffinity').spec.nodeName, node)
      cluster.ok(`label node ${node} env-`)
    },
  },
  // With node CIDRs given out, a replacement that does not repeat them is refused; without them it is replaced (see below).
  '36-node-uncordon.yaml': { does: { refuse: /may not change podCIDR/ }, verb: 'replace', after: ['01-node-cordon.yaml'] },
  '37-pod-security-context.yaml': { does: 'create', check: (cluster) => runs(cluster, 'hello-world') },
  '38-hpa-v2beta2.yaml': { does: 'create', check: (cluster) => assert.equal(cluster.get('hpa nginx-v2').spec.metrics.length, 5) },
  '39-hpa-v2beta2-old-fields.yaml': { does: { refuse: /unknown field "spec\.metrics\[\d\]\.[a-z]+\.(metricName|target[A-Za-z]+)"/ } },
  '40-services-kube-proxy.yaml': {
    does: 'create',
    check: (cluster) => assert.deepEqual(cluster.get('service extip').spec.externalIPs, ['192.168.56.110']),
  },
  '41-pod-emptydir.yaml': { does: 'create' },
  '42-pod-hostpath.yaml': { does: 'create' },
  '43-pod-nfs.yaml': { does: 'create' },
  '44-pod-volumes-named-only.yaml': {
    does: 'create',
    check(cluster, warnings) {
      assert.match(warnings, /glusterfs.*deprecated[\s\S]*gitRepo.*deprecated|gitRepo.*deprecated[\s\S]*glusterfs.*deprecated/)
      runs(cluster, 'poddownward')
    },
  },
  '45-pod-in-namespace.yaml': { does: 'create', check: (cluster) => cluster.wait('condition=Ready', 'pod/podexample -n development') },
  '46-pod-secret-env.yaml': { does: 'create' },
  '47-serviceaccount-default.yaml': {
    does: 'replace',
    check: (cluster) => assert.deepEqual(cluster.get('serviceaccount default').secrets, [{ name: 'default-token-5pqqp' }]),
  },
  '48-serviceaccount-token.yaml': {
    does: 'create',
    vanishes: true,
    check: (cluster) => cluster.wait('delete', 'secret/default-token-5pqqp'),
  },
  '49-apiresource-pods.json': {
    does: 'read',
    check(cluster) {
      const served = JSON.parse(cluster.ok('get --raw /api/v1')).resources.find(({ name }: Seen) => name === 'pods')
      const { storageVersionHash, ...rest } = served
      assert.match(storageVersionHash, /^\S{12}$/)
      assert.deepEqual(rest, { ...json(cluster, '49-apiresource-pods.json'), singularName: 'pod' })
    },
  },
  '50-kubeconfig.yaml': namesItsCertificate('50-kubeconfig.yaml', '/etc/kubernetes/pki/kubecfg.crt'),
  '51-kubeconfig-admin.yaml': namesItsCertificate('51-kubeconfig-admin.yaml', '/etc/kubernetes/'),
  '52-kubeconfig-kubelet.yaml': namesItsCertificate('52-kubeconfig-kubelet.yaml', '/etc/kubernetes/pki/node1.crt'),
  '53-node-configsource.yaml': {
    does: 'create',
    // Upstream has removed this, and drops the field.
    check: (cluster) => assert.equal('configSource' in (cluster.get('node node1').spec ?? {}), false),
  },
  '54-basic-auth.csv': { does: 'read' },
  '55-token-auth.csv': { does: 'read' },
  '56-abac-policy.jsonl': { does: 'read' },
  '57-abac-policy-bool.jsonl': { does: 'read' },
  '58-cfssl-ca-config.json': { does: 'read' },
  '59-cfssl-ca-csr.json': { does: 'read' },
  '60-cfssl-client-csr.json': { does: 'read' },
  '61-component-flags.conf': { does: 'read', check: (cluster) => flagsAreKnownOrNamed(cluster, '61-component-flags.conf') },
  '62-flanneld.conf': { does: 'read' },
  '63-flannel-net-conf-udp.json': {
    does: 'read',
    check: (cluster) => networkIs(cluster, '63-flannel-net-conf-udp.json', '10.1.0.0/16', 'udp'),
  },
  '64-flannel-net-conf-vxlan.json': {
    does: 'read',
    check: (cluster) => networkIs(cluster, '64-flannel-net-conf-vxlan.json', '10.1.0.0/16', 'vxlan'),
  },
  '65-flannel-net-conf-host-gw.json': {
    does: 'read',
    check: (cluster) => networkIs(cluster, '65-flannel-net-conf-host-gw.json', '10.2.0.0/16', 'host-gw'),
  },
  '66-flannel-subnets.jsonl': {
    does: 'read',
    check: (cluster) =>
      routesAre(cluster, '66-flannel-subnets.jsonl', [
        ['10.2.38.0/24', '192.168.56.105'],
        ['10.2.99.0/24', '192.168.56.104'],
      ]),
  },
  '67-flannel-subnet-env.conf': { does: 'read', check: (cluster) => flannelPluginReads(cluster, '67-flannel-subnet-env.conf') },
  '68-flannel-docker-env.conf': { does: 'read' },
  '69-docker-flannel-dropin.conf': { does: 'read' },
  '70-node-flannel-annotations.yaml': {
    does: 'create',
    check(cluster) {
      assert.equal(cluster.get('node node1').metadata.annotations['flannel.alpha.coreos.com/public-ip'], '10.39.0.46')
      isVxlanPeer(cluster)
    },
  },
  '71-calico-node-service.conf': { does: 'read' },
  '72-cni-calico.json': { does: 'read', check: (cluster) => pluginRefuses(cluster, '72-cni-calico.json') },
  '73-confd-bird-toml.conf': { does: 'read' },
  '74-calico-startup.yaml': {
    does: noMatch,
    check(cluster) {
      const pools = takenOnceServed(cluster, '74-calico-startup.yaml', IPPool)
      assert.deepEqual(pools.map(({ spec }) => [spec.cidr, spec.natOutgoing]).sort(), [
        ['192.168.0.0/16', true],
        ['fd71:a41b:b227::/48', false],
      ])
    },
    awaits: 'ClusterInformation, Node and FelixConfiguration of projectcalico.org/v3: nothing here acts on them',
  },
  '75-calico-controllers.yaml': {
    does: noMatch,
    check(cluster) {
      const [policy] = takenOnceServed(cluster, '75-calico-controllers.yaml', CalicoNetworkPolicy)
      assert.deepEqual([policy.spec.order, policy.spec.types], [1000, ['Ingress', 'Egress']])
      assert.deepEqual(cluster.get('networkpolicies.networking.k8s.io -A').items, [])
    },
    awaits: 'Profile of projectcalico.org/v3: nothing here acts on it',
  },
  '76-calico-workload.yaml': {
    does: noMatch,
    check(cluster) {
      const named = cluster.get('nodes').items.filter(({ metadata }: Seen) => metadata.uid === '35a9df52-993a-11e8-9cb9-0800277cfbe4')
      assert.deepEqual(named, [])
    },
    awaits: 'Node and WorkloadEndpoint of projectcalico.org/v3: nothing here acts on them',
  },
  '77-calico-ipam-handle.json': { does: 'read' },
  '78-scheduler-policy.json': { does: 'read', check: (cluster) => schedulerTakes(cluster, '78-scheduler-policy.json') },
  '79-cluster-autoscaler.yaml': { does: 'create' },
  '80-metrics-server.yaml': { does: 'create', awaits: 'its image, which no registry has that tests can reach' },
  '81-metrics-server-support.yaml': { does: 'create', awaits: 'the image of 80' },
  '82-wardle-apiserver.yaml': {
    does: 'create',
    // A group that nobody answers for keeps namespaces from going.
    check: (cluster) => void cluster.ok('delete apiservice v1alpha1.wardle.k8s.io'),
    awaits: 'its image, which no registry has that tests can reach',
  },
  '83-wardle-fischer.yaml': { does: noMatch, awaits: 'the image of 82' },
  '84-wardle-flunder.yaml': { does: noMatch, awaits: 'the image of 82' },
  '85-status-forbidden.jsonl': {
    does: 'read',
    check(cluster) {
      for (const line of readFileSync(cluster.path('85-status-forbidden.jsonl'), 'utf8').trim().split('\n')) {
        const recorded = JSON.parse(line)
        const { group, kind, name } = recorded.details
        const path = `/apis/${group}/v1alpha1/namespaces/default/${kind}/${name}`
        const said = cluster.refused(['get', '--raw', path, '--as', 'system:anonymous'])
        assert.match(said, /Forbidden/)
        assert.match(said, new RegExp(`${kind}.${group} "${name}" is forbidden: User "system:anonymous" cannot get`))
      }
    },
  },
}

/** Objects of one kind in the file, which are taken once their kind is served. */
function takenOnceServed(cluster: ManifestTools, file: string, { kind, definition }: CustomKind): Seen[] {
  const { name } = definition.metadata
  const crd = JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', ...definition })
  cluster.ok('create -f -', crd)
  cluster.wait('condition=Established', `crd/${name}`)
  const objects = manifestsOf(file).filter((each) => each.kind === kind)
  for (const each of objects) cluster.ok('create -f -', JSON.stringify(each))
  const { items } = cluster.get(`${name} -A`)
  assert.equal(items.length, objects.length)
  cluster.ok('delete -f -', crd)
  return items
}

function vpaDefinition(): string {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const names = { plural: 'verticalpodautoscalers', singular: 'verticalpodautoscaler', kind: 'VerticalPodAutoscaler' }
  const group = 'poc.autoscaling.k8s.io'
  return JSON.stringify({
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: {
      name: `verticalpodautoscalers.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: { group, names, scope: 'Namespaced', versions: [{ name: 'v1alpha1', served: true, storage: true, schema }] },
  })
}

function isSimulated({ metadata }: Seen): boolean {
  return metadata.name !== 'node1'
}

function isNotKubernetes({ metadata }: Seen): boolean {
  return metadata.name !== 'kubernetes'
}

function namesItsCertificate(file: string, path: string): Row {
  return {
    does: 'read',
    check: (cluster) => assert.ok(cluster.refused(['--kubeconfig', cluster.path(file), 'get', 'pods']).includes(path)),
  }
}
