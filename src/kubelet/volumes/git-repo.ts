import { join } from 'node:path'
import { quoted } from '#api/meta/check.ts'
import { giveToFsGroup } from '#kubelet/volumes/fs-group.ts'
import { makeWritableDirectory } from '#kubelet/volumes/mirrored-volume.ts'
import { podUid, type VolumePlugin, type VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

const name = 'kubernetes.io/git-repo'

/** Nothing of the repository is run here, nor is anything of this machine a repository. */
const careful = [
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'protocol.file.allow=never',
  '-c',
  'protocol.ext.allow=never',
  '-c',
  'core.symlinks=true',
]

/** What a repository had when the pod started; upstream has it no more, manifests of old do. */
export const gitRepoVolume: VolumePlugin = {
  source: 'gitRepo',
  name,
  isReadOnly: false,
  isManaged: true,
  mirrorsObjects: false,
  pathOf: (volume, pod, { directories }) => directories.volume(podUid(pod), name, volume.name),
  async setUp({ name: volume, gitRepo: { repository, revision = '', directory = '' } = { repository: '' } }, pod, tools) {
    const { files, directories } = tools
    mustBePlain(repository, 'repository')
    mustBePlain(revision, 'revision')
    mustBePlain(directory, 'directory')
    if (directory.split('/').includes('..') || directory.startsWith('/'))
      throw new Error(`${quoted(directory)} is an invalid directory of a git repository`)
    const path = directories.volume(podUid(pod), name, volume)
    const mark = join(directories.pluginVolume(podUid(pod), name, volume), 'ready')
    if ((await files.stat(mark)) !== undefined) return
    // What an earlier try has left would be in the way.
    await files.remove(path)
    await makeWritableDirectory(tools, path)
    await git(tools, path, ['clone', '--', repository, ...(directory === '' ? [] : [directory])])
    const place = await placeOf(tools, path, directory)
    if (revision !== '') {
      await git(tools, place, ['checkout', revision])
      await git(tools, place, ['reset', '--hard'])
    }
    await giveToFsGroup(files, path, pod, false)
    await files.makeDirectory(join(mark, '..'), { mode: 0o750 })
    await files.createExclusive(mark, '')
  },
}

function mustBePlain(text: string, what: string): void {
  if (text.startsWith('-')) throw new Error(`${quoted(text)} is an invalid ${what} of a git repository`)
}

async function placeOf({ files }: VolumeTools, path: string, directory: string): Promise<string> {
  if (directory === '.' || directory.startsWith('./')) return join(path, directory)
  const found = await files.list(path)
  const [only] = found
  if (only === undefined || found.length > 1) throw new Error(`unexpected directory contents: ${found.join(', ')}`)
  return join(path, only)
}

async function git({ processes }: VolumeTools, directory: string, args: string[]): Promise<void> {
  const environment = { GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' }
  const { exitCode, stderr } = await processes.run('git', [...careful, ...args], { directory, environment }).catch((error: unknown) => {
    throw new Error(`this node has no program git, which volumes of git repositories need: ${String(error)}`, { cause: error })
  })
  if (exitCode !== 0) throw new Error(`failed to exec 'git ${args.join(' ')}': ${stderr.trim()}: exit status ${exitCode}`)
}
