/** The metrics adapter over a Prometheus of Debian's, which scrapes this process. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { Service } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { Deployment, startCluster } from '#index.ts'
import { freePort } from '../support/free-port.ts'

const whyNot = spawnSync('sh', ['-c', 'command -v prometheus']).status === 0 ? false : 'not installed: prometheus'

const config = `
rules:
- seriesQuery: 'http_requests_total{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^(.*)_total$", as: "\${1}"}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
externalRules:
- seriesQuery: queue_length
  resources: {namespaced: false}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)
`

async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo().catch(() => false)); tries++) {
    assert.ok(tries < 1200, what)
    await systemClock.sleep(100)
  }
}

/** The target is this process, which may be too busy for one scrape: then nothing is known until the next. */
async function untilEqual<T>(ask: () => Promise<T>, expected: T): Promise<void> {
  let last: T | undefined
  const isSo = async () => {
    last = await ask()
    return isDeepStrictEqual(last, expected)
  }
  await eventually('', isSo).catch(() => assert.deepEqual(last, expected))
}

test('what Prometheus scrapes is served as custom and external metrics', { skip: whyNot, timeout: 240_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn-prometheus-'))
  let page = ''
  const exporter = createServer((_request, response) => response.end(page))
  await new Promise<void>((resolve) => exporter.listen(0, '127.0.0.1', resolve))
  const { port: exporterPort } = exporter.address() as AddressInfo
  const port = await freePort()
  const target = `'127.0.0.1:${exporterPort}'`
  const scrape = `- {job_name: t, honor_labels: true, scrape_interval: 1s, static_configs: [{targets: [${target}]}]}`
  writeFileSync(join(directory, 'prometheus.yml'), `scrape_configs:\n${scrape}\n`)
  writeFileSync(join(directory, 'rules.yaml'), config)
  const flags = [
    `--config.file=${directory}/prometheus.yml`,
    `--storage.tsdb.path=${directory}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const prometheus = spawn('prometheus', flags, { stdio: 'ignore' })
  const prometheusEnded = new Promise((resolve) => prometheus.once('exit', resolve))
  const configPath = join(directory, 'rules.yaml')
  const cluster = await startCluster({ metricsAdapter: { prometheusUrl: `http://127.0.0.1:${port}`, configPath } })
  try {
    const { client } = cluster
    const get = async <T>(path: string) => JSON.parse(await client.raw(path)) as T
    type Values = { items: { describedObject?: { name: string }; metricLabels?: object; value: string }[] }
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } }
    const namespace = 'default'
    await client.create(Deployment, {
      metadata: { namespace, name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    })
    const podNames = async () =>
      (await get<{ items: { metadata: { name: string } }[] }>('/api/v1/namespaces/default/pods')).items.map(({ metadata }) => metadata.name)
    await eventually('two pods', async () => (await podNames()).length === 2)
    const [one = '', other = ''] = (await podNames()).sort()
    page = [
      `http_requests_total{namespace="default",pod="${one}",verb="GET"} 3`,
      `http_requests_total{namespace="default",pod="${one}",verb="POST"} 1`,
      `http_requests_total{namespace="default",pod="${other}",verb="GET"} 0.5`,
      'queue_length{queue="mail"} 45',
      'queue_length{queue="jobs"} 30',
      '',
    ].join('\n')
    const custom = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods'
    const both = `${custom}/*/http_requests?labelSelector=app%3Dweb`
    const values = async (path: string) =>
      (await get<Values>(path)).items.map(({ describedObject, value }) => [describedObject?.name, value]).sort()
    await untilEqual(
      () => values(both),
      [
        [one, '4'],
        [other, '500m'],
      ],
    )
    await untilEqual(() => values(`${custom}/${one}/http_requests?metricLabelSelector=verb%3DPOST`), [[one, '1']])
    await assert.rejects(client.raw(`${custom}/${one}/nothing`), /could not find the metric nothing for pods/)
    const served = async () => {
      const { resources } = await get<{ resources: { name: string }[] }>('/apis/custom.metrics.k8s.io/v1beta1')
      return resources.map(({ name }) => name)
    }
    await untilEqual(served, ['namespaces/http_requests', 'pods/http_requests'])
    const external = '/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_length'
    await untilEqual(async () => (await get<Values>(external)).items.length, 2)
    const mail = async () => {
      const [item] = (await get<Values>(`${external}?labelSelector=queue%3Dmail`)).items
      return { labels: item?.metricLabels, value: item?.value }
    }
    await untilEqual(mail, { labels: { queue: 'mail' }, value: '45' })

    // Somebody else's adapter takes over.
    const name = 'v1beta1.external.metrics.k8s.io'
    const service = { namespace: 'default', name: 'theirs', port: 443 }
    const spec = {
      group: 'external.metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service,
    }
    await client.create(Service, { metadata: { namespace, name: 'theirs' }, spec: { ports: [{ port: 443 }] } })
    await client.create(APIService, { metadata: { name }, spec })
    await eventually('theirs is asked', () =>
      client.raw(external).then(
        () => false,
        () => true,
      ),
    )
  } finally {
    await cluster.stop()
    prometheus.kill('SIGKILL')
    await prometheusEnded
    exporter.close()
    exporter.closeAllConnections()
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  }
})
