import { join, posix } from 'node:path'
import { quoted } from '#api/meta/check.ts'
import { giveToFsGroup } from '#kubelet/volumes/fs-group.ts'
import { makeWritableDirectory } from '#kubelet/volumes/mirrored-volume.ts'
import { podUid, type VolumePlugin, type VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

const name = 'kubernetes.io/git-repo'

/** Nothing of the repository is run here, nor is anything of this machine a repository. */
const careful = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.symlinks=true'].flatMap((setting) => ['-c', setting])
/** Neither the machine's own settings nor a person decides what a pod gets; what is not named here is no way to a repository. */
const environment = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ALLOW_PROTOCOL: 'git:http:https:ssh',
}
const longestComplaint = 1024

/** What a repository had when the pod started. Upstream has it no more, manifests of old do: a gate switches it on. */
export const gitRepoVolume: VolumePlugin = {
  source: 'gitRepo',
  name,
  isReadOnly: false,
  isManaged: true,
  mirrorsObjects: false,
  pathOf: (volume, pod, { directories }) => directories.volume(podUid(pod), name, volume.name),
  async setUp({ name: volume, gitRepo: { repository, revision = '', directory = '' } = { repository: '' } }, pod, tools) {
    const { files, directories } = tools
    if (!tools.clonesRepositories) {
      throw new Error(
        'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
      )
    }
    mustBePlain(repository, 'repository')
    mustBePlain(revision, 'revision')
    mustBePlain(directory, 'directory')
    if (directory.split('/').includes('..') || directory.startsWith('/'))
      throw new Error(`${quoted(directory)} is an invalid directory of a git repository`)
    if (revision !== '') mustBeOneName(directory)
    const path = directories.volume(podUid(pod), name, volume)
    const mark = join(directories.pluginVolume(podUid(pod), name, volume), 'ready')
    if ((await files.stat(mark)) !== undefined) return
    // What an earlier try has left would be in the way.
    await files.remove(path)
    await makeWritableDirectory(tools, path)
    await git(tools, path, ['clone', '--', repository, ...(directory === '' ? [] : [directory])])
    const place = await placeOf(tools, path, directory)
    if (revision !== '') {
      // Said rather than searched for: what was checked out may look like a repository itself, with settings that run programs.
      const own = [`--git-dir=${join(place, '.git')}`, `--work-tree=${place}`]
      await git(tools, place, ['checkout', revision], own)
      await git(tools, place, ['reset', '--hard'], own)
    }
    await giveToFsGroup(files, path, pod, false)
    await files.makeDirectory(join(mark, '..'), { mode: 0o750 })
    await files.createExclusive(mark, '')
  },
}

function mustBePlain(text: string, what: string): void {
  if (text.startsWith('-')) throw new Error(`${quoted(text)} is an invalid ${what} of a git repository`)
}

function mustBeOneName(directory: string): void {
  const clean = posix.normalize(directory)
  if (/[/\\]/.test(clean)) throw new Error(`${quoted(directory)} is not a valid directory, it must not contain a directory separator`)
  if (clean.startsWith('.') && clean !== '.') throw new Error(`${quoted(directory)} is an invalid directory of a git repository`)
}

async function placeOf({ files }: VolumeTools, path: string, directory: string): Promise<string> {
  if (directory !== '' && posix.normalize(directory) === '.') return path
  const found = await files.list(path)
  const [only] = found
  if (only === undefined || found.length > 1) throw new Error(`unexpected directory contents: ${found.join(', ')}`)
  return join(path, only)
}

async function git({ processes }: VolumeTools, directory: string, args: string[], own: readonly string[] = []): Promise<void> {
  const { exitCode, stderr } = await processes
    .run('git', [...careful, ...own, ...args], { directory, environment })
    .catch((error: unknown) => {
      throw new Error(`this node has no program git, which volumes of git repositories need: ${String(error)}`, { cause: error })
    })
  if (exitCode === 0) return
  // What the server of the repository says is in it, as much as it likes.
  const complaint = stderr.trim().slice(-longestComplaint)
  throw new Error(`failed to exec 'git ${args.join(' ')}': ${complaint}: exit status ${exitCode}`)
}
