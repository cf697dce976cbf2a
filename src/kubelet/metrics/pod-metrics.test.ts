import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { Metrics } from '#base/metrics.ts'
import { PodMetrics } from '#kubelet/metrics/pod-metrics.ts'

const pod = (name: string, more: Partial<V1Pod['metadata']> = {}, status: V1PodStatus = {}): V1Pod => ({
  metadata: { name, ...more },
  spec: { containers: [{ name: 'main' }] },
  status,
})

test('pods are counted by what is done with them, and their starts from their creation', () => {
  const metrics = new Metrics()
  const counted = new PodMetrics(metrics, 'n1')
  const nowMs = Date.parse('2030-01-01T00:00:10Z')
  counted.hears(
    pod('web', { creationTimestamp: '2030-01-01T00:00:00Z' }),
    undefined,
    { phase: 'Running', startTime: '2030-01-01T00:00:08Z' },
    nowMs,
  )
  counted.looked('create', 20)
  counted.began(1)
  counted.told(700)
  counted.rejected('OutOfcpu')
  const isStatic = { annotations: { 'kubernetes.io/config.source': 'file' } }
  counted.count([pod('a'), pod('b', isStatic), pod('c', { deletionTimestamp: '2030-01-01T00:00:00Z' }), pod('d', {}, { phase: 'Failed' })])
  const text = metrics.text()
  for (const line of [
    'kubelet_pod_start_total_duration_seconds_sum 10',
    'kubelet_pod_start_duration_seconds_sum 2',
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
    'kubelet_pod_worker_start_duration_seconds_count 1',
    'kubelet_pod_status_sync_duration_seconds_sum 0.7',
    'kubelet_admission_rejections_total{reason="OutOfcpu"} 1',
    'kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1',
    'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
    'kubelet_working_pods{config="desired",lifecycle="terminating",static=""} 1',
    'kubelet_working_pods{config="desired",lifecycle="terminated",static=""} 1',
    'kubelet_mirror_pods 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line}\n${text}`)
  }
})
