/** `typernetes images`: the images on a node. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const where = defineOptions({
  dataDir: dataDirectoryOption,
  criSocket: text('the container runtime', { placeholder: 'PATH', default: '', defaultText: "the cluster's own, or the machine's" }),
})

export function imagesCommand(command: Command): void {
  const load = command.command('load <files...>').description('bring in images from files, as docker save and others write them')
  const show = command.command('ls').description('list the images')
  const remove = command.command('rm <names...>').description('remove images, by name or id')
  for (const each of [load, show, remove]) addOptions(each, where)
  const images = () => import('#cmd/images/images.ts')
  load.action(async (files: string[]) => (await images()).loadImages(files, optionValues(load, where)))
  show.action(async () => (await images()).listImages(optionValues(show, where)))
  remove.action(async (names: string[]) => (await images()).removeImages(names, optionValues(remove, where)))
}
