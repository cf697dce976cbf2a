import { type DockerClient, DockerError, ifFound } from '#runtime/docker/docker-client.ts'
import type { CreateRequest } from '#runtime/docker/docker-types.ts'

/**
 * Resolves with its id. A name that is taken is that of one whose making nobody has heard the end of: it has never run, or is another
 * agent's, so that it goes only where it can go without being ended.
 */
export async function createContainer(docker: DockerClient, name: string, body: CreateRequest): Promise<string> {
  const create = async (named: string) =>
    (await docker.json<{ Id: string }>('POST', '/containers/create', { query: { name: named }, body })).Id
  try {
    return await create(name)
  } catch (error) {
    const taken =
      error instanceof DockerError && error.status === 409
        ? /already in use by container "?([0-9a-f]+)/.exec(error.message)?.[1]
        : undefined
    if (taken === undefined) throw error
    try {
      await ifFound(docker.json('DELETE', `/containers/${taken}`, { query: { v: true } }))
    } catch {
      // It runs, or is being removed: the name is not what it is known by.
      return create(`${name}_${taken.slice(0, 8)}`)
    }
    return create(name)
  }
}
