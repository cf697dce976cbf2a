/** KubeSchedulerConfiguration: what a scheduler is told at its start. */
import type { ExtensionPoint } from '#scheduler/config/extension-points.ts'
import { pluginPoints } from '#scheduler/config/plugin-points.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { PluginMetrics } from '#scheduler/framework/plugin-metrics.ts'
import { Profile } from '#scheduler/framework/profile.ts'
import type { Nominator } from '#scheduler/queue/nominator.ts'

export type ConfiguredPlugin = { name: string; weight?: number }
export type PluginSet = { enabled?: ConfiguredPlugin[]; disabled?: ConfiguredPlugin[] }

export type ConfiguredProfile = {
  schedulerName?: string
  percentageOfNodesToScore?: number
  plugins?: { [Point in ExtensionPoint | 'multiPoint']?: PluginSet }
  pluginConfig?: { name: string; args?: Record<string, unknown> }[]
}

export type ConfiguredExtender = {
  urlPrefix: string
  filterVerb?: string
  preemptVerb?: string
  prioritizeVerb?: string
  bindVerb?: string
  weight?: number
  enableHTTPS?: boolean
  tlsConfig?: {
    insecure?: boolean
    serverName?: string
    certFile?: string
    keyFile?: string
    caFile?: string
    certData?: string
    keyData?: string
    caData?: string
  }
  httpTimeout?: string
  nodeCacheCapable?: boolean
  managedResources?: { name: string; ignoredByScheduler?: boolean }[]
  ignorable?: boolean
}

export type LeaderElection = {
  leaderElect: boolean
  leaseDuration: string
  renewDeadline: string
  retryPeriod: string
  resourceLock: string
  resourceName: string
  resourceNamespace: string
}

export type SchedulerConfiguration = {
  parallelism: number
  leaderElection: LeaderElection
  /** Without `qps` there is no limit to the writes a second. */
  clientConnection: { kubeconfig: string; qps?: number; burst: number }
  percentageOfNodesToScore: number
  podInitialBackoffSeconds: number
  podMaxBackoffSeconds: number
  /** How long a pod that fits nowhere is left alone though nothing happens that could help it. Only a flag says it. */
  podMaxUnschedulableMs?: number
  profiles: ConfiguredProfile[]
  extenders: ConfiguredExtender[]
}

export const defaultSchedulerName = 'default-scheduler'

export function defaultConfiguration(): SchedulerConfiguration {
  return {
    parallelism: 16,
    leaderElection: {
      leaderElect: true,
      leaseDuration: '15s',
      renewDeadline: '10s',
      retryPeriod: '2s',
      resourceLock: 'leases',
      resourceName: 'kube-scheduler',
      resourceNamespace: 'kube-system',
    },
    clientConnection: { kubeconfig: '', burst: 100 },
    percentageOfNodesToScore: 0,
    podInitialBackoffSeconds: 1,
    podMaxBackoffSeconds: 10,
    profiles: [{ schedulerName: defaultSchedulerName }],
    extenders: [],
  }
}

/** Plugins are made anew for each profile, each with its own arguments. */
export function profilesOf(
  configuration: SchedulerConfiguration,
  handle: Omit<PluginHandle, 'profile'>,
  nominator: Nominator,
): Map<string, Profile> {
  const profiles = new Map<string, Profile>()
  const ignoredResources = configuration.extenders.flatMap(({ managedResources = [] }) =>
    managedResources.filter(({ ignoredByScheduler }) => ignoredByScheduler).map(({ name }) => name),
  )
  for (const configured of configuration.profiles) {
    const name = configured.schedulerName || defaultSchedulerName
    const profile = (): Profile => profiles.get(name) as Profile
    const points = pluginPoints(configured, { ...handle, profile }, ignoredResources)
    profiles.set(
      name,
      new Profile(name, points, nominator, new PluginMetrics(handle.metrics, handle.clock, name), configured.percentageOfNodesToScore),
    )
  }
  return profiles
}
