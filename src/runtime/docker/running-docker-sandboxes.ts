import type { Clock } from '#base/clock.ts'
import { DockerClient } from '#runtime/docker/docker-client.ts'
import { dockerTypes } from '#runtime/docker/docker-names.ts'
import { ownFilter } from '#runtime/docker/docker-sandboxes.ts'
import type { ListedContainer } from '#runtime/docker/docker-types.ts'

/** How many sandboxes of a directory's run in Docker, whether an agent is there or not; 0 where Docker is not. */
export async function runningDockerSandboxes(directory: string, endpoint: string, clock: Clock): Promise<number> {
  try {
    using docker = await DockerClient.connect(endpoint, clock)
    const query = { filters: ownFilter(dockerTypes.sandbox, directory, {}) }
    return (await docker.json<ListedContainer[]>('GET', '/containers/json', { query, timeoutMs: 2000 })).length
  } catch {
    return 0
  }
}
