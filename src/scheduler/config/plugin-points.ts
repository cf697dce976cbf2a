/** Which plugins take part where, from what a profile enables and disables. */
import type { ConfiguredPlugin, ConfiguredProfile } from '#scheduler/config/configuration.ts'
import { type ExtensionPoint, extensionPoints } from '#scheduler/config/extension-points.ts'
import type { AnyPlugin } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import type { PluginPoints, WeightedPlugin } from '#scheduler/framework/profile.ts'
import { type PluginEntry, schedulerPlugins } from '#scheduler/plugins.ts'

const methods: Record<ExtensionPoint, keyof AnyPlugin> = {
  preEnqueue: 'preEnqueue',
  queueSort: 'compare',
  preFilter: 'preFilter',
  filter: 'filter',
  postFilter: 'postFilter',
  preScore: 'preScore',
  score: 'score',
  reserve: 'reserve',
  permit: 'permit',
  preBind: 'preBind',
  bind: 'bind',
  postBind: 'postBind',
}

/** Throws when a plugin is not known, cannot do what it is enabled for, or is enabled twice. */
export function pluginPoints(profile: ConfiguredProfile, handle: PluginHandle, ignoredResources: readonly string[] = []): PluginPoints {
  const made = new Map<string, AnyPlugin>()
  const pluginOf = (name: string): AnyPlugin => {
    let plugin = made.get(name)
    if (plugin === undefined) {
      plugin = entryOf(name).make(argsOf(profile, name, ignoredResources), handle)
      made.set(name, plugin)
    }
    return plugin
  }
  const everywhere = enabledEverywhere(profile, handle)
  const at = (point: ExtensionPoint): WeightedPlugin[] => {
    const { enabled = [], disabled = [] } = profile.plugins?.[point] ?? {}
    const isDisabled = (name: string) => disabled.some((each) => each.name === '*' || each.name === name)
    const own = new Map<string, ConfiguredPlugin>()
    for (const plugin of enabled) {
      if (own.has(plugin.name)) throw new Error(`plugin "${plugin.name}" already registered as "${point}"`)
      if (pluginOf(plugin.name)[methods[point]] === undefined) throw new Error(`plugin "${plugin.name}" does not extend ${point} plugin`)
      own.set(plugin.name, plugin)
    }
    const inherited = everywhere.filter(({ name }) => !own.has(name) && !isDisabled(name) && pluginOf(name)[methods[point]] !== undefined)
    // One that is named here and everywhere goes first: that is how its place is chosen.
    const isAlsoEverywhere = ({ name }: ConfiguredPlugin) => everywhere.some((each) => each.name === name)
    const chosen = [...own.values()]
    const ordered = [...chosen.filter(isAlsoEverywhere), ...inherited, ...chosen.filter((each) => !isAlsoEverywhere(each))]
    return ordered.map(({ name, weight }) => ({ plugin: pluginOf(name), weight: weight || 1 }))
  }
  const points = Object.fromEntries(
    extensionPoints.map((point) => [point, point === 'score' ? at(point) : at(point).map(({ plugin }) => plugin)]),
  )
  if ((points['queueSort'] as AnyPlugin[]).length !== 1)
    throw new Error(`exactly one queue sort plugin is required for profile "${profile.schedulerName}"`)
  if ((points['bind'] as AnyPlugin[]).length === 0)
    throw new Error(`at least one bind plugin is needed for profile "${profile.schedulerName}"`)
  return points as unknown as PluginPoints
}

/** The default ones, with what the profile says about all points at once. */
function enabledEverywhere({ plugins }: ConfiguredProfile, { isEnabled }: Pick<PluginHandle, 'isEnabled'>): ConfiguredPlugin[] {
  const { enabled = [], disabled = [] } = plugins?.multiPoint ?? {}
  const isDisabled = (name: string) => disabled.some((each) => each.name === '*' || each.name === name)
  const result: ConfiguredPlugin[] = []
  for (const { name, weight, isOnDemand, gate } of schedulerPlugins) {
    if (isOnDemand || isDisabled(name) || (gate !== undefined && !isEnabled(gate))) continue
    const changed = enabled.find((each) => each.name === name)
    result.push({ name, weight: changed?.weight || weight || 1 })
  }
  for (const plugin of enabled) if (!result.some(({ name }) => name === plugin.name)) result.push(plugin)
  return result
}

function entryOf(name: string): PluginEntry {
  const entry = schedulerPlugins.find((each) => each.name === name)
  if (entry === undefined) throw new Error(`plugin "${name}" does not exist`)
  return entry
}

function argsOf({ pluginConfig = [] }: ConfiguredProfile, name: string, ignoredResources: readonly string[]): Record<string, unknown> {
  const args = pluginConfig.find((each) => each.name === name)?.args ?? {}
  if (name !== 'NodeResourcesFit' || ignoredResources.length === 0) return args
  const ignored = Array.isArray(args['ignoredResources']) ? args['ignoredResources'] : []
  return { ...args, ignoredResources: [...ignored, ...ignoredResources] }
}
