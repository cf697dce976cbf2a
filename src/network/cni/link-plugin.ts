/** What plugins have in common that give a container a link: addresses first, the link then, and all of it back where that fails. */
import { CniError, type CniPlugin, type CniRequest, type CniResult } from '#network/cni/contract.ts'
import { addAddresses, delegateAddresses } from '#network/cni/delegate.ts'
import { pairProblem } from '#network/cni/veth.ts'

export type LinkParts = {
  /** Before anything is done: throws where the configuration cannot be used. */
  validate?(request: CniRequest): void
  /** Throws where these addresses are of no use. */
  attach(request: CniRequest, allocated: CniResult): Promise<CniResult>
  /** Removes the link, which may not be there. */
  detach(request: CniRequest): Promise<void>
  /** After the link is gone. */
  cleanUp?(request: CniRequest): Promise<void>
  /** Throws what is wrong beside the link itself. */
  check?(request: CniRequest): Promise<void>
}

export function linkPlugin({ validate, attach, detach, cleanUp, check }: LinkParts): CniPlugin {
  return {
    async add(request) {
      validate?.(request)
      const allocated = await addAddresses(request)
      try {
        return await attach(request, allocated)
      } catch (error) {
        await detach(request)
        await delegateAddresses({ ...request, command: 'DEL' })
        throw error
      }
    },
    async remove(request) {
      await delegateAddresses(request)
      await detach(request)
      await cleanUp?.(request)
    },
    async check(request) {
      await delegateAddresses(request)
      const problem = await pairProblem(request)
      if (problem !== undefined) throw new CniError(100, problem)
      await check?.(request)
    },
    collect: (request) => delegateAddresses(request),
    status: (request) => delegateAddresses(request),
  }
}
