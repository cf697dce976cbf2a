/** Flannel's plugin: what the node's `subnet.env` says becomes the configuration of another plugin, bridge unless named. */

import { join } from 'node:path'
import { defined } from '#base/defined.ts'
import { addressAt, parseRange } from '#base/ip-range.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { bridge } from '#network/cni/bridge.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult, type PluginConf, readResult } from '#network/cni/contract.ts'
import { execute } from '#network/cni/delegate.ts'
import { parseSubnetEnv, type SubnetEnv } from '#network/pod-network/subnet-env.ts'

const defaultSubnetFile = '/run/flannel/subnet.env'
const defaultDataDirectory = '/var/lib/cni/flannel'

export const flannel: CniPlugin = {
  async add(request) {
    const { files } = request.seams
    const text = await files.readTextIfPresent(textOf(request, 'subnetFile', defaultSubnetFile))
    if (text === undefined)
      throw new CniError(11, `the file ${textOf(request, 'subnetFile', defaultSubnetFile)} is not there yet: does flannel run?`)
    const conf = delegateConf(request.conf, parseSubnetEnv(text))
    // What a container was added with is what it is removed with, whatever the file says by then.
    await files.makeDirectory(dataDirectory(request), { mode: 0o700 })
    await files.write(keptPath(request), JSON.stringify(conf))
    return (await called(request, conf)) as CniResult
  },
  async remove(request) {
    const kept = await request.seams.files.readTextIfPresent(keptPath(request))
    if (kept === undefined) return
    await called(request, JSON.parse(kept) as PluginConf)
    await request.seams.files.remove(keptPath(request))
  },
  async check(request) {
    const kept = await request.seams.files.readTextIfPresent(keptPath(request))
    if (kept === undefined) throw new CniError(3, `container ${request.containerId} was not added by this plugin`)
    await called(request, { ...(JSON.parse(kept) as PluginConf), prevResult: request.conf.prevResult })
  },
}

export function delegateConf(conf: PluginConf, env: SubnetEnv): PluginConf {
  const delegate = (conf['delegate'] ?? {}) as Record<string, unknown>
  for (const field of ['name', 'ipam']) {
    if (field in delegate) throw new CniError(7, `'delegate' dictionary must not have '${field}' field, it'll be set by flannel`)
  }
  const type = typeof delegate['type'] === 'string' ? delegate['type'] : 'bridge'
  const given = (conf.ipam ?? {}) as Record<string, unknown>
  const subnets = env.subnets.map((subnet) => `${addressAt(parseRange(subnet), 0)}/${subnet.split('/')[1]}`)
  const routes = env.networks.map((dst) => ({ dst }))
  return {
    ...{ ipMasq: !env.masquerades, mtu: env.mtu, ...omitEmpty({ isGateway: type === 'bridge' }) },
    ...delegate,
    ...{ type, name: conf.name, cniVersion: conf.cniVersion },
    ...defined({ runtimeConfig: conf.runtimeConfig }),
    ipam: {
      type: 'host-local',
      ...given,
      ranges: subnets.map((subnet) => [{ subnet }]),
      routes: [...((given['routes'] as { dst: string }[] | undefined) ?? []), ...routes],
    },
  }
}

async function called(request: CniRequest, conf: PluginConf): Promise<CniResult | undefined> {
  if (conf.type !== 'bridge') {
    const answer = await execute(conf.type, request, conf)
    return request.command === 'ADD' ? readResult(answer) : undefined
  }
  const inner = { ...request, conf }
  if (request.command === 'ADD') return bridge.add(inner)
  if (request.command === 'DEL') await bridge.remove(inner)
  if (request.command === 'CHECK') await bridge.check?.(inner)
  return undefined
}

function textOf({ conf }: CniRequest, field: string, usual: string): string {
  const value = conf[field]
  return typeof value === 'string' && value !== '' ? value : usual
}

const dataDirectory = (request: CniRequest): string => textOf(request, 'dataDir', defaultDataDirectory)
const keptPath = (request: CniRequest): string => join(dataDirectory(request), `${request.containerId}-${request.ifName}`)
