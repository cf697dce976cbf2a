/** `typernetes images`: the images on a node. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const where = defineOptions({
  dataDir: dataDirectoryOption,
  criSocket: text('the container runtime', { placeholder: 'PATH', default: '', defaultText: "the cluster's own, or the machine's" }),
})

const loading = defineOptions({
  ...where,
  name: text('what an image of an OCI layout directory is called that has no name in it', { placeholder: 'NAME', default: '' }),
})

export function imagesCommand(command: Command): void {
  const load = command
    .command('load <sources...>')
    .description('bring in images: a .tar or .tar.gz file, an OCI layout directory, - for the standard input, docker:NAME, podman:NAME')
  const show = command.command('ls').description('list the images')
  const remove = command.command('rm <names...>').description('remove images, by name or id')
  for (const each of [show, remove]) addOptions(each, where)
  addOptions(load, loading)
  const images = () => import('#cmd/images/images.ts')
  load.action(async (sources: string[]) => (await images()).loadImages(sources, optionValues(load, loading)))
  show.action(async () => (await images()).listImages(optionValues(show, where)))
  remove.action(async (names: string[]) => (await images()).removeImages(names, optionValues(remove, where)))
}
