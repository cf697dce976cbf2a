/**
 * A chain of plugins in one process: starting a program takes longer than most of them do. Its configuration holds theirs (`plugins`), and
 * each gets what the one before has made, as if the runtime had called them in turn.
 */
import { defined } from '#base/defined.ts'
import { bandwidth } from '#network/cni/bandwidth.ts'
import { bridge } from '#network/cni/bridge.ts'
import { calicoIpam } from '#network/cni/calico-ipam.ts'
import { CniError, type CniPlugin, type CniRequest, emptyResult, type PluginConf } from '#network/cni/contract.ts'
import { flannel } from '#network/cni/flannel.ts'
import { hostLocal } from '#network/cni/host-local.ts'
import { loopback } from '#network/cni/loopback.ts'
import { portmap } from '#network/cni/portmap.ts'
import { ptp } from '#network/cni/ptp.ts'
import { routed } from '#network/cni/routed.ts'

/** By the names that configurations call them. */
export const plugins: Readonly<Record<string, CniPlugin>> = {
  bridge,
  ptp,
  loopback,
  portmap,
  bandwidth,
  flannel,
  routed,
  'host-local': hostLocal,
  'calico-ipam': calicoIpam,
}

export const chain: CniPlugin = {
  async add(request) {
    let result = request.prevResult
    const done: { plugin: CniPlugin; inner: CniRequest }[] = []
    for (const { plugin, inner } of links(request)) {
      const next = { ...inner, prevResult: result }
      try {
        result = await plugin.add(next)
      } catch (error) {
        for (const { plugin: before, inner: made } of done.reverse()) await before.remove({ ...made, command: 'DEL' })
        throw error
      }
      done.push({ plugin, inner: next })
    }
    return result ?? emptyResult
  },
  async remove(request) {
    for (const { plugin, inner } of links(request).reverse()) await plugin.remove(inner)
  },
  async check(request) {
    for (const { plugin, inner } of links(request)) await plugin.check?.(inner)
  },
  async collect(request, valid) {
    for (const { plugin, inner } of links(request)) await plugin.collect?.(inner, valid)
  },
  async status(request) {
    for (const { plugin, inner } of links(request)) await plugin.status?.(inner)
  },
}

function links(request: CniRequest): { plugin: CniPlugin; inner: CniRequest }[] {
  const { conf } = request
  const list = conf['plugins']
  if (!Array.isArray(list) || list.length === 0) throw new CniError(7, 'a chain needs plugins')
  return (list as Partial<PluginConf>[]).map((one) => {
    const plugin = plugins[one.type ?? '']
    if (plugin === undefined)
      throw new CniError(7, `a chain has no plugin ${JSON.stringify(one.type)}; there are ${Object.keys(plugins).join(', ')}`)
    const { name, cniVersion, runtimeConfig, args } = conf
    const shared = { name, cniVersion, ...defined({ runtimeConfig, args }) }
    const valid = conf['cni.dev/valid-attachments']
    const inner = { type: '', ...one, ...shared, ...defined({ 'cni.dev/valid-attachments': valid }) }
    return { plugin, inner: { ...request, conf: inner } }
  })
}
