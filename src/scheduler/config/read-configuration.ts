/** A scheduler's configuration file: KubeSchedulerConfiguration, or the Policy it once was. */

import { jsYaml } from '#api/codec/js-yaml.ts'
import { append } from '#base/append.ts'
import { parseDurationMs } from '#base/duration.ts'
import {
  type ConfiguredExtender,
  type ConfiguredProfile,
  defaultConfiguration,
  defaultSchedulerName,
  type SchedulerConfiguration,
} from '#scheduler/config/configuration.ts'
import { extensionPoints } from '#scheduler/config/extension-points.ts'
import { isPolicy, translatedPolicy } from '#scheduler/config/policy.ts'

const group = 'kubescheduler.config.k8s.io'
const versions = [`${group}/v1`, `${group}/v1beta3`, `${group}/v1beta2`, `${group}/v1beta1`]
const knownFields = new Set([
  'apiVersion',
  'kind',
  'parallelism',
  'leaderElection',
  'clientConnection',
  'percentageOfNodesToScore',
  'podInitialBackoffSeconds',
  'podMaxBackoffSeconds',
  'profiles',
  'extenders',
  'enableProfiling',
  'enableContentionProfiling',
  'delayCacheUntilActive',
  'healthzBindAddress',
  'metricsBindAddress',
])
const profileFields = new Set(['schedulerName', 'percentageOfNodesToScore', 'plugins', 'pluginConfig'])
const pluginFields = new Set<string>([...extensionPoints, 'multiPoint', 'placementGenerate', 'placementScore'])

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readConfiguration(text: string, path: string): Promise<SchedulerConfiguration> {
  const { load } = jsYaml()
  return configurationFrom(load(text), path)
}

export function configurationFrom(document: unknown, path: string): SchedulerConfiguration {
  if (document === null || typeof document !== 'object' || Array.isArray(document)) throw new Error(`${path}: the document is not a map`)
  const given = document as Partial<SchedulerConfiguration> & { apiVersion?: string; kind?: string }
  if (isPolicy(document)) return checked({ ...defaultConfiguration(), ...translatedPolicy(document) }, path)
  if (given.kind !== 'KubeSchedulerConfiguration' || !versions.includes(given.apiVersion ?? '')) {
    throw new Error(`${path}: expected KubeSchedulerConfiguration of ${versions[0]}, found ${given.kind} of ${given.apiVersion}`)
  }
  refuseUnknown(given, knownFields, path, '')
  const defaults = defaultConfiguration()
  const profiles = given.profiles?.length ? given.profiles : defaults.profiles
  // One profile may go without a name; of several each needs one.
  if (profiles.length === 1 && profiles[0] !== undefined) profiles[0].schedulerName ||= defaultSchedulerName
  return checked(
    {
      parallelism: given.parallelism ?? defaults.parallelism,
      leaderElection: { ...defaults.leaderElection, ...given.leaderElection },
      clientConnection: { ...defaults.clientConnection, ...given.clientConnection },
      percentageOfNodesToScore: given.percentageOfNodesToScore ?? 0,
      podInitialBackoffSeconds: given.podInitialBackoffSeconds || defaults.podInitialBackoffSeconds,
      podMaxBackoffSeconds: given.podMaxBackoffSeconds || defaults.podMaxBackoffSeconds,
      profiles,
      extenders: given.extenders ?? [],
    },
    path,
  )
}

function checked(configuration: SchedulerConfiguration, path: string): SchedulerConfiguration {
  const problems: string[] = []
  const { percentageOfNodesToScore, podInitialBackoffSeconds, podMaxBackoffSeconds, profiles, extenders, leaderElection } = configuration
  if (percentageOfNodesToScore < 0 || percentageOfNodesToScore > 100) problems.push('percentageOfNodesToScore: not in valid range [0-100]')
  if (podInitialBackoffSeconds <= 0) problems.push('podInitialBackoffSeconds: must be greater than 0')
  if (podMaxBackoffSeconds < podInitialBackoffSeconds)
    problems.push('podMaxBackoffSeconds: must be greater than or equal to PodInitialBackoffSeconds')
  if (configuration.parallelism <= 0) problems.push('parallelism: should be an integer value greater than zero')
  for (const field of ['leaseDuration', 'renewDeadline', 'retryPeriod'] as const) {
    if (!(parseDurationMs(leaderElection[field]) > 0)) problems.push(`leaderElection.${field}: must be greater than zero`)
  }
  const names = new Set<string>()
  for (const [index, profile] of profiles.entries()) append(problems, profileProblems(profile, `profiles[${index}]`, names, path))
  if (extenders.filter(({ bindVerb }) => bindVerb).length > 1) problems.push('extenders: found multiple extenders implementing bind')
  for (const [index, extender] of extenders.entries()) append(problems, extenderProblems(extender, `extenders[${index}]`))
  if (problems.length > 0) throw new Error(`${path}: ${problems.join('; ')}`)
  return configuration
}

function profileProblems(profile: ConfiguredProfile, at: string, names: Set<string>, path: string): string[] {
  refuseUnknown(profile, profileFields, path, `${at}.`)
  refuseUnknown(profile.plugins ?? {}, pluginFields, path, `${at}.plugins.`)
  const problems: string[] = []
  const name = profile.schedulerName ?? ''
  if (name === '') problems.push(`${at}.schedulerName: is required`)
  else if (names.has(name)) problems.push(`${at}.schedulerName: duplicate value "${name}"`)
  names.add(name)
  const percentage = profile.percentageOfNodesToScore ?? 0
  if (percentage < 0 || percentage > 100) problems.push(`${at}.percentageOfNodesToScore: not in valid range [0-100]`)
  const configured = new Set<string>()
  for (const { name: plugin } of profile.pluginConfig ?? []) {
    if (configured.has(plugin)) problems.push(`${at}.pluginConfig: duplicate config for plugin ${plugin}`)
    configured.add(plugin)
  }
  return problems
}

function extenderProblems({ urlPrefix, prioritizeVerb, weight, managedResources = [] }: ConfiguredExtender, at: string): string[] {
  const problems: string[] = []
  if (!urlPrefix) problems.push(`${at}.urlPrefix: is required`)
  if (prioritizeVerb && (weight ?? 0) <= 0) problems.push(`${at}.weight: must have a positive weight applied to it`)
  const names = managedResources.map(({ name }) => name)
  if (new Set(names).size < names.length) problems.push(`${at}.managedResources: duplicate resources`)
  return problems
}

function refuseUnknown(value: object, known: ReadonlySet<string>, path: string, at: string): void {
  for (const field of Object.keys(value)) if (!known.has(field)) throw new Error(`${path}: unknown field "${at}${field}"`)
}
