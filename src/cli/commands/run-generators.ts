/** The generators that `kubectl run` has had until 1.17: a deployment, a job, a cron job or a replication controller of one image. */
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { quantities } from '#cli/create/policies.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

export type Generated = { type: Pick<ResourceType, 'group' | 'version' | 'plural'>; object: ApiObject }

/** Flags that only they know: whoever gives one wants what `run` made then. */
const theirFlags = ['generator', 'replicas', 'requests', 'limits', 'schedule', 'hostport', 'serviceaccount', 'service-generator'] as const

export const wantsGenerator = ({ flags }: Call): boolean => theirFlags.some((flag) => flags.has(flag) && flags.isSet(flag))

export const podGenerator = 'run-pod/v1'

const workloads: Readonly<Record<string, { group: string; version: string; plural: string; kind: string }>> = {
  'run/v1': { group: '', version: 'v1', plural: 'replicationcontrollers', kind: 'ReplicationController' },
  'run-container/v1': { group: '', version: 'v1', plural: 'replicationcontrollers', kind: 'ReplicationController' },
  'deployment/v1beta1': { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
  'deployment/apps.v1beta1': { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
  'deployment/apps.v1': { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
  'job/v1': { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job' },
  'cronjob/v2alpha1': { group: 'batch', version: 'v1', plural: 'cronjobs', kind: 'CronJob' },
  'cronjob/v1beta1': { group: 'batch', version: 'v1', plural: 'cronjobs', kind: 'CronJob' },
  'cronjob/v1': { group: 'batch', version: 'v1', plural: 'cronjobs', kind: 'CronJob' },
}

/** The one that was asked for, else by the schedule and the restart policy. */
export function generatorName({ flags }: Call): string {
  const named = flags.text('generator')
  if (named !== '') {
    if (named !== podGenerator && workloads[named] === undefined) throw usageError('run', `generator ${JSON.stringify(named)} not found`)
    return named
  }
  if (flags.text('schedule') !== '') return 'cronjob/v1beta1'
  const restart = flags.text('restart')
  return restart === 'Never' ? podGenerator : restart === 'OnFailure' ? 'job/v1' : 'deployment/apps.v1'
}

/** The workload around the pod that `run` would make by itself. */
export function generatedWorkload(call: Call, generator: string, pod: ApiObject): Generated {
  const { flags } = call
  const type = workloads[generator]
  if (type === undefined) throw new CliError(`generator ${JSON.stringify(generator)} not found`)
  if (flags.isOn('stdin') && flags.number('replicas') !== 1)
    throw usageError('run', `-i/--stdin requires that replicas is 1, found ${flags.number('replicas')}`)
  const { name = '', labels = {}, annotations } = pod.metadata ?? {}
  const spec = podSpecOf(call, pod)
  const isJob = type.plural === 'jobs' || type.plural === 'cronjobs'
  if (isJob) spec['restartPolicy'] = flags.isSet('restart') ? flags.text('restart') : 'OnFailure'
  else delete spec['restartPolicy']
  const template = { metadata: { labels }, spec }
  const replicas = flags.number('replicas')
  const inner: Record<string, unknown> =
    type.kind === 'Job'
      ? { template }
      : type.kind === 'CronJob'
        ? { schedule: flags.text('schedule'), concurrencyPolicy: 'Allow', jobTemplate: { spec: { template } } }
        : { replicas, selector: type.kind === 'Deployment' ? { matchLabels: labels } : labels, template }
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  const metadata = { name, labels, ...defined({ annotations }) }
  return { type, object: { kind: type.kind, apiVersion, metadata, spec: inner } }
}

/** Requests, limits, the host's port and the service account, which a plain `run` no longer takes. */
export function podSpecOf({ flags }: Call, pod: ApiObject): Record<string, unknown> {
  const spec = structuredClone(pod['spec']) as { containers: Record<string, unknown>[]; [field: string]: unknown }
  const [container] = spec.containers
  if (container === undefined) return spec
  const resources = {
    ...(flags.text('limits') === '' ? {} : { limits: quantities(flags.text('limits')) }),
    ...(flags.text('requests') === '' ? {} : { requests: quantities(flags.text('requests')) }),
  }
  if (Object.keys(resources).length > 0) container['resources'] = resources
  const hostPort = flags.number('hostport')
  const ports = container['ports'] as { containerPort: number; hostPort?: number }[] | undefined
  if (hostPort > 0) {
    if (ports?.[0] === undefined) throw new CliError('--hostport requires --port to be specified')
    ports[0].hostPort = hostPort
  }
  if (flags.text('serviceaccount') !== '') spec['serviceAccountName'] = flags.text('serviceaccount')
  return spec
}

/** The generators of services differ in the name of the port alone. */
export function servicePortName({ flags }: Call): { name?: string } {
  const generator = flags.has('service-generator') ? flags.text('service-generator') : ''
  if (!['', 'service/v1', 'service/v2'].includes(generator)) throw new CliError(`Generator: ${generator} not found.`)
  return generator === 'service/v1' ? { name: 'default' } : {}
}
