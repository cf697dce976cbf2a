/** Calls of other plugins: ours in this process, others as programs. */
import { join } from 'node:path'
import { calicoIpam } from '#network/cni/calico-ipam.ts'
import {
  CniError,
  type CniPlugin,
  type CniRequest,
  type CniResult,
  type ErrorCode,
  emptyResult,
  type PluginConf,
  readResult,
} from '#network/cni/contract.ts'
import { hostLocal } from '#network/cni/host-local.ts'

/** Managers of addresses that run in this process. */
const ownManagers: Readonly<Record<string, CniPlugin>> = { 'host-local': hostLocal, 'calico-ipam': calicoIpam }

/** Addresses for a container; none where the configuration asks for none. */
export async function addAddresses(request: CniRequest): Promise<CniResult> {
  const type = request.conf.ipam?.type ?? ''
  if (type === '') return emptyResult
  const own = ownManagers[type]
  if (own !== undefined) return own.add(request)
  return readResult(await execute(type, request, request.conf))
}

/** What another plugin says to the same command. */
export async function delegateAddresses(request: CniRequest): Promise<void> {
  const type = request.conf.ipam?.type ?? ''
  if (type === '') return
  const own = ownManagers[type]
  if (own === undefined) {
    await execute(type, request, request.conf)
    return
  }
  if (request.command === 'DEL') await own.remove(request)
  if (request.command === 'CHECK') await own.check?.(request)
  if (request.command === 'STATUS') await own.status?.(request)
  if (request.command === 'GC') await own.collect?.(request, request.conf['cni.dev/valid-attachments'] ?? [])
}

export async function execute(type: string, { path, environment, seams }: CniRequest, conf: PluginConf): Promise<unknown> {
  if (!/^[a-zA-Z0-9_.-]+$/.test(type)) throw new CniError(7, `invalid plugin name ${JSON.stringify(type)}`)
  for (const directory of path) {
    const program = join(directory, type)
    if ((await seams.files.statTarget(program))?.kind !== 'file') continue
    const { exitCode, stdout, stderr } = await seams.processes.run(program, [], { input: JSON.stringify(conf), environment })
    const answer: unknown = stdout.trim() === '' ? undefined : JSON.parse(stdout)
    if (exitCode === 0) return answer
    const { code = 100, msg = stderr } = (answer ?? {}) as { code?: ErrorCode; msg?: string }
    throw new CniError(code, `plugin type="${type}" failed: ${msg}`)
  }
  throw new CniError(100, `failed to find plugin "${type}" in path [${path.join(' ')}]`)
}
