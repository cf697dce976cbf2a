/** What controllers count themselves, under upstream's names and labels. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1JobSpec } from '#api/batch/v1/types.gen.ts'
import { Endpoints, Node, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { ResourceClaim, ResourceClaimTemplate } from '#api/resource/v1/kinds.gen.ts'
import { failingWrite } from '#testing/failing-write.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const namespace = 'default'
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] } }

/** The lines of these metrics that are not buckets. */
const linesOf = (cluster: FakeCluster, prefix: string) =>
  cluster
    .metricsText()
    .split('\n')
    .filter((line) => line.startsWith(prefix) && !/_(bucket|sum)\{|_sum /.test(line))

test('jobs: how they were looked at, what became of their pods and indexes, which rules were for failures', async () => {
  await using cluster = await FakeCluster.start({
    controllers: ['job', 'cronjob', 'ttl-after-finished'],
    fateOf: ({ metadata }) => (metadata.name?.startsWith('bad') ? 'fails' : 'succeeds'),
  })
  const add = (name: string, spec: Partial<V1JobSpec>) =>
    cluster.create(Job, { metadata: { namespace, name }, spec: { template, ...spec } })
  await add('good', { completions: 2, ttlSecondsAfterFinished: 5 })
  await add('good-indexed', { completions: 3, parallelism: 3, completionMode: 'Indexed' })
  await add('bad', { backoffLimit: 1 })
  const onExitCodes = { operator: 'In', values: [1] }
  await add('bad-policy', { podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] } })
  await add('theirs', { managedBy: 'example.com/batch' })
  await cluster.create(CronJob, {
    metadata: { namespace, name: 'cron' },
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template } } },
  })
  await cluster.advance({ seconds: 59 })
  assert.deepEqual(linesOf(cluster, 'job_controller_jobs_finished_total').sort(), [
    'job_controller_jobs_finished_total{completion_mode="Indexed",result="succeeded",reason="CompletionsReached"} 1',
    'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="failed",reason="BackoffLimitExceeded"} 1',
    'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="failed",reason="PodFailurePolicy"} 1',
    'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_job_pods_finished_total').sort(), [
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="failed"} 0',
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 3',
    'job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 3',
    'job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 2',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_job_finished_indexes_total'), [
    'job_controller_job_finished_indexes_total{status="succeeded",backoffLimit="global"} 3',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_pod_failures_handled'), [
    'job_controller_pod_failures_handled_by_failure_policy_total{action="FailJob"} 1',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_job_pods_creation_total').sort(), [
    'job_controller_job_pods_creation_total{reason="new",status="succeeded"} 7',
    'job_controller_job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 1',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_jobs_by_external'), [
    'job_controller_jobs_by_external_controller_total{controller_name="example.com/batch"} 1',
  ])
  assert.deepEqual(linesOf(cluster, 'job_controller_terminated_pods'), [
    'job_controller_terminated_pods_tracking_finalizer_total{event="add"} 8',
    'job_controller_terminated_pods_tracking_finalizer_total{event="delete"} 8',
  ])
  const syncs = linesOf(cluster, 'job_controller_job_syncs_total').join('\n')
  for (const action of ['pods_created', 'tracking', 'reconciling']) assert.match(syncs, new RegExp(`result="success",action="${action}"`))
  assert.match(linesOf(cluster, 'job_controller_job_sync_duration_seconds_count').join('\n'), /NonIndexed/)
  assert.deepEqual(linesOf(cluster, 'ttl_after_finished'), ['ttl_after_finished_controller_job_deletion_duration_seconds_count 1'])
  await cluster.advance({ minutes: 2 })
  assert.deepEqual(linesOf(cluster, 'cronjob_controller'), ['cronjob_controller_job_creation_skew_duration_seconds_count 2'])
})

test('nodes of zones, those that are cleared of their pods, and pods that are deleted for want of a node', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['nodelifecycle', 'podgc'] })
  const labels = { 'topology.kubernetes.io/zone': 'a' }
  for (const [name, status] of [
    ['n1', 'True'],
    ['n2', 'Unknown'],
  ] as const) {
    const made = await cluster.create(Node, { metadata: { name, labels }, spec: {} })
    const conditions = [{ type: 'Ready', status, reason: 'Test', message: '' }]
    await cluster.client.updateStatus(Node, { ...made, status: { conditions } })
  }
  const containers = [{ name: 'main', image: 'a' }]
  await cluster.create(Pod, { metadata: { namespace, name: 'orphan' }, spec: { nodeName: 'gone', containers } })
  await cluster.advance({ seconds: 20 })
  const told = linesOf(cluster, 'node_collector_').map((line) => line.replace(':\u0000:a', 'ZONE'))
  for (const line of [
    'node_collector_zone_size{zone="ZONE"} 2',
    'node_collector_zone_health{zone="ZONE"} 50',
    'node_collector_unhealthy_nodes_in_zone{zone="ZONE"} 1',
    'node_collector_evictions_total{zone="ZONE"} 1',
  ])
    assert.ok(told.includes(line), `${line}: ${told.join('\n')}`)
  assert.match(told.join('\n'), /node_collector_update_all_nodes_health_duration_seconds_count \d/)
  await cluster.advance({ minutes: 2 })
  assert.deepEqual(linesOf(cluster, 'pod_gc_collector'), [
    'pod_gc_collector_force_delete_pods_total{namespace="default",reason="orphaned"} 1',
  ])
})

test('what is published, by the code it ended with, and claims by who made them', async () => {
  const count = { writes: 0 }
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['root-ca-cert-publisher', 'resource-claim-controller'],
    settings: { rootCa: 'the authority' },
    through: (transport, { account }) =>
      account === 'root-ca-cert-publisher' ? failingWrite(transport, { at: 0, how: 'refused' }, count) : transport,
  })
  const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] }
  await cluster.create(ResourceClaim, { metadata: { namespace, name: 'own' }, spec: { devices } })
  await cluster.create(ResourceClaimTemplate, { metadata: { namespace, name: 'gpus' }, spec: { spec: { devices } } })
  const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'gpus' }]
  await cluster.create(Pod, { metadata: { namespace, name: 'p' }, spec: { containers: [{ name: 'main', image: 'a' }], resourceClaims } })
  await cluster.advance({ seconds: 10 })
  const published = linesOf(cluster, 'root_ca_cert_publisher_sync_total').join('\n')
  assert.match(published, /^root_ca_cert_publisher_sync_total\{code="500"\} 1$/m)
  assert.match(published, /^root_ca_cert_publisher_sync_total\{code="200"\} [1-9]/m)
  assert.deepEqual(linesOf(cluster, 'resourceclaim_controller').sort(), [
    'resourceclaim_controller_creates_total{status="success",admin_access="false"} 1',
    'resourceclaim_controller_resource_claims{allocated="false",admin_access="false",source=""} 1',
    'resourceclaim_controller_resource_claims{allocated="false",admin_access="false",source="resource_claim_template"} 1',
  ])
})

test('slices of endpoints, mirrored ones too: what came and went, and how many there are', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['endpointslice', 'endpointslicemirroring'] })
  const ports = [{ name: 'http', port: 80 }]
  const selector = { app: 'a' }
  await cluster.create(Service, { metadata: { namespace, name: 'a' }, spec: { selector, ports, trafficDistribution: 'PreferClose' } })
  for (const name of ['a1', 'a2'])
    await cluster.create(Pod, { metadata: { namespace, name, labels: selector }, spec: { containers: [{ name: 'main', image: 'a' }] } })
  await cluster.create(Service, { metadata: { namespace, name: 'own' }, spec: { ports } })
  const addresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1'].map((ip) => ({ ip }))
  await cluster.create(Endpoints, {
    metadata: { namespace, name: 'own' },
    subsets: [
      { addresses: addresses.slice(0, 2), ports },
      { addresses: addresses.slice(2), ports },
    ],
  })
  await cluster.advance({ seconds: 30 })
  const told = linesOf(cluster, 'endpoint_slice_controller_')
  for (const line of [
    'endpoint_slice_controller_endpoints_desired 2',
    'endpoint_slice_controller_num_endpoint_slices 1',
    'endpoint_slice_controller_desired_endpoint_slices 1',
    'endpoint_slice_controller_services_count_by_traffic_distribution{traffic_distribution="PreferClose"} 1',
    'endpoint_slice_controller_changes{operation="create"} 1',
  ])
    assert.ok(told.includes(line), `${line}: ${told.join('\n')}`)
  assert.match(told.join('\n'), /_syncs\{result="success"\} [1-9]/)
  assert.match(told.join('\n'), /_endpointslices_changed_per_sync_count\{topology="Disabled",traffic_distribution="PreferClose"\} [1-9]/)
  const mirrored = linesOf(cluster, 'endpoint_slice_mirroring_controller_')
  for (const line of [
    'endpoint_slice_mirroring_controller_endpoints_desired 3',
    'endpoint_slice_mirroring_controller_num_endpoint_slices 2',
    'endpoint_slice_mirroring_controller_desired_endpoint_slices 2',
    'endpoint_slice_mirroring_controller_changes{operation="create"} 2',
  ])
    assert.ok(mirrored.includes(line), `${line}: ${mirrored.join('\n')}`)
  for (const name of ['endpoints_added', 'endpoints_updated', 'endpoints_removed', 'addresses_skipped'])
    assert.match(mirrored.join('\n'), new RegExp(`_${name}_per_sync_count [1-9]`))
  assert.match(mirrored.join('\n'), /_endpoints_sync_duration_count [1-9]/)
  const sum = cluster.metricsText().match(/^endpoint_slice_mirroring_controller_endpoints_added_per_sync_sum (\d+)$/m)?.[1]
  assert.equal(sum, '3')
  await cluster.client.delete(Endpoints, { namespace, name: 'own' })
  await cluster.client.delete(Service, { namespace, name: 'a' })
  await cluster.advance({ seconds: 30 })
  assert.ok(linesOf(cluster, 'endpoint_slice_').includes('endpoint_slice_mirroring_controller_num_endpoint_slices 0'))
  assert.ok(linesOf(cluster, 'endpoint_slice_').includes('endpoint_slice_controller_num_endpoint_slices 0'))
})

test('sets: how old the pods were that went, how many may be missing, and how many are', async () => {
  await using cluster = await FakeCluster.start({
    controllers: ['replicaset', 'statefulset'],
    featureGates: ['MaxUnavailableStatefulSet=true'],
    settings: { isEnabled: (gate) => gate === 'MaxUnavailableStatefulSet' },
  })
  const matchLabels = { app: 'a' }
  const pods = { metadata: { labels: matchLabels }, spec: { containers: [{ name: 'main', image: 'a' }] } }
  const replicaSpec = { replicas: 1, selector: { matchLabels }, template: pods }
  await cluster.create(ReplicaSet, { metadata: { namespace, name: 'rs' }, spec: replicaSpec })
  const rollingUpdate = { maxUnavailable: '50%' }
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate }
  const labelled = { ...pods, metadata: { labels: { app: 'b' } } }
  const setSpec = { replicas: 5, serviceName: 's', selector: { matchLabels: { app: 'b' } }, template: labelled, updateStrategy }
  await cluster.create(StatefulSet, { metadata: { namespace, name: 'ss' }, spec: { ...setSpec, podManagementPolicy: 'Parallel' } })
  await cluster.advance({ minutes: 1 })
  await cluster.change(ReplicaSet, namespace, 'rs', ({ spec }) => void Object.assign(spec ?? {}, { replicas: 3 }))
  await cluster.advance({ minutes: 1 })
  await cluster.change(ReplicaSet, namespace, 'rs', ({ spec }) => void Object.assign(spec ?? {}, { replicas: 1 }))
  await cluster.advance({ minutes: 1 })
  assert.deepEqual(linesOf(cluster, 'replicaset_controller'), ['replicaset_controller_sorting_deletion_age_ratio_count 2'])
  const labels = '{statefulset_namespace="default",statefulset_name="ss",pod_management_policy="Parallel"}'
  assert.deepEqual(linesOf(cluster, 'statefulset_controller'), [
    `statefulset_controller_statefulset_max_unavailable${labels} 2`,
    `statefulset_controller_statefulset_unavailable_replicas${labels} 0`,
  ])
})

test('ranges of nodes, and kinds that the garbage collector cannot learn of', async () => {
  let isBroken = false
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['nodeipam', 'garbagecollector'],
    settings: { allocateNodeCidrs: true, clusterCidrs: ['10.244.0.0/22'], nodeCidrMaskSizeIpv4: 24 },
    through: (transport) => ({
      ...transport,
      send: (request) => (isBroken && /^\/apis?$/.test(request.target) ? Promise.reject(new Error('refused')) : transport.send(request)),
    }),
  })
  assert.deepEqual(linesOf(cluster, 'garbagecollector_'), ['garbagecollector_controller_resources_sync_error_total 0'])
  for (const name of ['n1', 'n2']) await cluster.create(Node, { metadata: { name }, spec: {} })
  await cluster.advance({ seconds: 5 })
  await cluster.client.delete(Node, { name: 'n2' })
  isBroken = true
  await cluster.advance({ seconds: 31 })
  const labels = '{clusterCIDR="10.244.0.0/22"}'
  assert.deepEqual(linesOf(cluster, 'node_ipam_controller').sort(), [
    `node_ipam_controller_cidrset_allocation_tries_per_request_count${labels} 2`,
    `node_ipam_controller_cidrset_cidrs_allocations_total${labels} 2`,
    `node_ipam_controller_cidrset_cidrs_releases_total${labels} 1`,
    `node_ipam_controller_cidrset_usage_cidrs${labels} 0.25`,
    `node_ipam_controller_cirdset_max_cidrs${labels} 4`,
  ])
  assert.deepEqual(linesOf(cluster, 'garbagecollector_'), ['garbagecollector_controller_resources_sync_error_total 1'])
})
