/** cAdvisor's own API, as kubelets of old served it on port 4194: what the machine is, and what it and its containers use. */
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal, respondJson, respondText } from '#kubelet/server/refusal.ts'
import { attributesOf, derivedStats, specOf, statsOf, storageOf, wholeStats } from '#kubelet/stats/cadvisor-api/second-form.ts'
import { cadvisorMetrics, type MachineFacts } from '#kubelet/stats/cadvisor-metrics.ts'
import { type ContainerInfo, infosBelow } from '#kubelet/stats/container-info.ts'
import type { NodeUsage, UsageSource } from '#kubelet/stats/usage.ts'

export type CadvisorApiOptions = { source: UsageSource; clock: Clock; machine(): Promise<MachineFacts> }

const versions = ['v1.0', 'v1.1', 'v1.2', 'v1.3', 'v2.0', 'v2.1']
/** Between two looks so much time passes that a rate can be told. */
const secondLookMs = 1000

export function cadvisorApi(options: CadvisorApiOptions): (exchange: HttpExchange) => void {
  return (exchange) => {
    answer(exchange, options).catch((error: unknown) => {
      respondText(exchange, error instanceof Refusal ? error.code : 500, `${errorMessage(error)}\n`)
    })
  }
}

async function answer(exchange: HttpExchange, options: CadvisorApiOptions): Promise<void> {
  const { pathname, searchParams } = new URL(exchange.target, 'http://node')
  if (pathname === '/healthz') return respondText(exchange, 200, 'ok')
  if (pathname === '/metrics') {
    const text = cadvisorMetrics(await options.source.collect({ detail: 'all' }), await options.machine())
    return exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, text)
  }
  const [root, version = '', type = '', ...rest] = decoded(pathname).split('/').slice(1)
  if (root !== 'api') throw new Refusal(404, 'the API is below /api/')
  if (!versions.includes(version)) throw new Refusal(404, `unsupported API version "${version}"; there are ${versions.join(', ')}`)
  const name = `/${rest.filter((part) => part !== '').join('/')}`
  const result = version.startsWith('v1') ? await first(type, name, options) : await second(version, type, name, searchParams, options)
  if (result === undefined) throw new Refusal(404, `unknown request type "${type}" of the API ${version}`)
  respondJson(exchange, result)
}

/** What v1 knows by this word; undefined where it knows nothing. */
async function first(type: string, name: string, { source, machine }: CadvisorApiOptions): Promise<unknown> {
  if (type === 'machine') return machineInfo(await source.collect({ detail: 'all' }), await machine())
  if (!['containers', 'subcontainers', 'docker'].includes(type)) return undefined
  const all = infosBelow(await source.collect({ detail: 'all' }), '/', true)
  if (type === 'docker') return name === '/' ? aliased(all) : named(all, name.slice(1))
  if (all[name] === undefined) throw new Refusal(404, `unknown container "${name}"`)
  if (type === 'containers') return withChildren(all[name], all)
  return Object.values(all)
    .filter((info) => isBelow(info.name, name))
    .map((info) => withChildren(info, all))
}

async function second(
  version: string,
  type: string,
  name: string,
  query: URLSearchParams,
  { source, clock, machine }: CadvisorApiOptions,
): Promise<unknown> {
  if (type === 'version') return (await machine()).version
  if (type === 'attributes') return attributesOf(await machine())
  if (type === 'machine') return machineInfo(await source.collect({ detail: 'all' }), await machine())
  if (type === 'storage') return storageOf(await source.collect({ detail: 'all' }))
  if (type === 'ps') return []
  if (!['stats', 'spec', 'summary', 'machinestats'].includes(type) || (type === 'machinestats' && version !== 'v2.1')) return undefined
  const usage = await source.collect({ detail: 'all' })
  if (type === 'machinestats') return [wholeStats(infosBelow(usage, '/', false)['/'] as ContainerInfo)]
  const chosen = chosenOf(infosBelow(usage, '/', true), name, query)
  if (type === 'spec') return mapped(chosen, specOf)
  if (type === 'stats')
    return mapped(chosen, (info) => (version === 'v2.0' ? [statsOf(info)] : { spec: specOf(info), stats: [wholeStats(info)] }))
  await clock.sleep(secondLookMs)
  const later = infosBelow(await source.collect({ detail: 'amounts' }), '/', true)
  return mapped(chosen, (info) => derivedStats(info, later[info.name] ?? info))
}

function chosenOf(all: Record<string, ContainerInfo>, name: string, query: URLSearchParams): Record<string, ContainerInfo> {
  const isRecursive = query.get('recursive') === 'true'
  if (query.get('type') === 'docker') return name === '/' ? aliased(all) : named(all, name.slice(1))
  if (all[name] === undefined) throw new Refusal(404, `unknown container "${name}"`)
  return isRecursive ? Object.fromEntries(Object.entries(all).filter(([each]) => isBelow(each, name))) : { [name]: all[name] }
}

/** Containers that a runtime has made, by the name of their cgroup. */
const aliased = (all: Record<string, ContainerInfo>) => Object.fromEntries(Object.entries(all).filter(([, { aliases }]) => aliases))

/** By the runtime's id, the beginning of it, or the name that Docker would have given it. */
function named(all: Record<string, ContainerInfo>, alias: string): Record<string, ContainerInfo> {
  const found = Object.values(all).find(({ aliases = [] }) =>
    aliases.some((each) => each === alias || (alias.length >= 8 && each.startsWith(alias))),
  )
  if (found === undefined) throw new Refusal(404, `unable to find Docker container "${alias}"`)
  return { [found.name]: found }
}

const isBelow = (name: string, root: string): boolean => root === '/' || name === root || name.startsWith(`${root}/`)

function withChildren(info: ContainerInfo, all: Record<string, ContainerInfo>): object {
  const below = Object.keys(all).filter((name) => name !== info.name && isBelow(name, info.name))
  // Groups between the two are of no interest to anybody.
  const subcontainers = below.filter((name) => !below.some((other) => other !== name && isBelow(name, other)))
  return { ...info, ...(subcontainers.length > 0 && { subcontainers: subcontainers.map((name) => ({ name })) }) }
}

function machineInfo({ fs }: NodeUsage, { cores, memoryBytes, machineId, bootId, systemUuid }: MachineFacts): object {
  return {
    ...{
      num_cores: cores,
      cpu_frequency_khz: 0,
      memory_capacity: memoryBytes,
      machine_id: machineId,
      system_uuid: systemUuid,
      boot_id: bootId,
    },
    filesystems: fs === undefined ? [] : [{ device: '/', capacity: fs.capacityBytes, type: 'vfs', inodes: fs.inodes, has_inodes: true }],
    ...{ disk_map: {}, network_devices: [], topology: [], cloud_provider: 'Unknown', instance_type: 'Unknown', instance_id: 'None' },
  }
}

function mapped(infos: Record<string, ContainerInfo>, make: (info: ContainerInfo) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(infos).map(([name, info]) => [name, make(info)]))
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Refusal(400, 'invalid URL path')
  }
}
