import { defaultConfiguration, type SchedulerConfiguration } from '#scheduler/config/configuration.ts'

/** What --algorithm-provider stood for: the one for autoscaled clusters fills nodes up, so that others can be given back. */
export function providedConfiguration(provider: string): SchedulerConfiguration {
  const configuration = defaultConfiguration()
  if (provider !== 'ClusterAutoscalerProvider') return configuration
  const fit = { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }
  const profiles = configuration.profiles.map((profile) => ({ ...profile, pluginConfig: [...(profile.pluginConfig ?? []), fit] }))
  return { ...configuration, profiles }
}
