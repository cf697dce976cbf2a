import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { maySeveralNodesHave } from '#controllers/attach-detach/attachable-volume.ts'
import { type SimulatedCall, type VolumeScript, volumeScriptOf } from '#controllers/simulated-volumes/volume-script.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import type {
  AttachRequest,
  ExpandedVolume,
  ExpandRequest,
  ModifyRequest,
  ProvisionedVolume,
  ProvisionRequest,
  VolumeDriver,
} from '#controllers/volume-driver/volume-driver.ts'

/** The provisioner of classes with simulated volumes, and their CSI driver. */
export const simulatedDriver = 'sim.typernetes.dev'

export type SimulatedVolume = {
  sizeBytes: number
  readonly nodes: Set<string>
  attributes: Readonly<Record<string, string>>
}

/** Volumes without anything behind them, that take their time and fail as their class says. */
export class SimulatedVolumes implements Required<Omit<VolumeDriver, 'nodeName'>> {
  readonly name: string
  /** What the storage behind has, by handle. A restart knows of none, and learns of them as they are asked for. */
  readonly volumes = new Map<string, SimulatedVolume>()
  readonly #clock: Clock
  readonly #attempts = new Map<string, number>()

  constructor({ clock, name = simulatedDriver }: { clock: Clock; name?: string }) {
    this.name = name
    this.#clock = clock
  }

  async provision(
    { name, storageClass, sizeBytes, nodeName, attributesClass }: ProvisionRequest,
    signal: AbortSignal,
  ): Promise<ProvisionedVolume> {
    const { parameters = {} } = storageClass
    const script = scriptFrom(parameters)
    await this.#call('provision', name, script, signal, () => {
      if (!this.volumes.has(name)) this.volumes.set(name, { sizeBytes, nodes: new Set(), attributes: attributesClass?.parameters ?? {} })
    })
    const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [nodeName ?? ''] }] }]
    return {
      // Later calls find the script on the volume, also when the class is gone.
      source: { csi: { driver: this.name, volumeHandle: name, volumeAttributes: { ...parameters } } },
      sizeBytes: this.volumes.get(name)?.sizeBytes ?? sizeBytes,
      ...defined({ nodeAffinity: script.isOnOneNode && nodeName !== undefined ? { required: { nodeSelectorTerms: terms } } : undefined }),
    }
  }

  async delete(volume: V1PersistentVolume, signal: AbortSignal): Promise<void> {
    const handle = handleOf(volume)
    await this.#call('delete', handle, scriptFrom(parametersOf(volume)), signal, () => {
      const [node] = this.volumes.get(handle)?.nodes ?? []
      if (node !== undefined) throw new DriverError('final', `volume ${handle} is still attached to node ${node}`)
      this.volumes.delete(handle)
    })
    for (const key of this.#attempts.keys()) if (key.endsWith(` ${handle}`)) this.#attempts.delete(key)
  }

  async attach({ volume, nodeName }: AttachRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const known = this.#known(volume)
    await this.#call('attach', handleOf(volume), scriptFrom(parametersOf(volume)), signal, () => {
      const other = [...known.nodes].find((each) => each !== nodeName)
      if (other !== undefined && !maySeveralNodesHave(volume)) {
        throw new DriverError('final', `volume ${handleOf(volume)} is attached to node ${other} already`)
      }
      known.nodes.add(nodeName)
    })
    return {}
  }

  async detach({ volume, nodeName }: AttachRequest, signal: AbortSignal): Promise<void> {
    const known = this.#known(volume)
    await this.#call('detach', handleOf(volume), scriptFrom(parametersOf(volume)), signal, () => known.nodes.delete(nodeName))
  }

  async expand({ volume, sizeBytes }: ExpandRequest, signal: AbortSignal): Promise<ExpandedVolume> {
    const known = this.#known(volume)
    const script = scriptFrom(parametersOf(volume))
    await this.#call('expand', handleOf(volume), script, signal, () => {
      known.sizeBytes = Math.max(known.sizeBytes, sizeBytes)
    })
    return { sizeBytes: known.sizeBytes, needsNode: script.expandsOnNode }
  }

  async modify({ volume, attributesClass }: ModifyRequest, signal: AbortSignal): Promise<void> {
    const known = this.#known(volume)
    await this.#call('modify', handleOf(volume), scriptFrom(parametersOf(volume)), signal, () => {
      known.attributes = attributesClass.parameters ?? {}
    })
  }

  #known(volume: V1PersistentVolume): SimulatedVolume {
    const handle = handleOf(volume)
    const known = this.volumes.get(handle) ?? { sizeBytes: 0, nodes: new Set<string>(), attributes: {} }
    this.volumes.set(handle, known)
    return known
  }

  async #call(call: SimulatedCall, handle: string, script: VolumeScript, signal: AbortSignal, act: () => void): Promise<void> {
    const key = `${call} ${handle}`
    const attempt = this.#attempts.get(key) ?? 0
    this.#attempts.set(key, attempt + 1)
    const timeMs = script.timeMs(call)
    if (timeMs > 0) await this.#clock.sleep(timeMs, signal)
    const outcome = script.outcome(call, attempt)
    const failure = `simulated failure of ${call}`
    if (outcome === 'fail') throw new DriverError('final', failure)
    if (outcome === 'infeasible' || outcome === 'elsewhere') throw new DriverError(outcome, failure)
    act()
    if (outcome === 'lost') throw new Error(`the answer to ${call} was lost`)
    // The next time is another matter.
    this.#attempts.delete(key)
  }
}

function scriptFrom(parameters: Readonly<Record<string, string>>): VolumeScript {
  try {
    return volumeScriptOf(parameters)
  } catch (error) {
    throw new DriverError('infeasible', errorMessage(error))
  }
}

const handleOf = ({ spec, metadata }: V1PersistentVolume): string => spec.csi?.volumeHandle ?? metadata.name ?? ''
const parametersOf = ({ spec }: V1PersistentVolume): Record<string, string> => spec.csi?.volumeAttributes ?? {}
