# The same service with a GPU, and with Cloud Run's minimum of processors and memory for one.
module "service" {
  source = "../cloudrun"

  project     = var.project
  image       = var.image
  region      = var.region
  public      = var.public
  name        = "ranklet-gpu"
  cpu         = "4"
  memory      = "16Gi"
  concurrency = 16
  accelerator = "nvidia-l4"

  max_instances = 2
}

variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "image" {
  description = "The image of this folder's Dockerfile, with its digest."
  type        = string
}

variable "region" {
  description = "A region where Cloud Run has the GPU."
  type        = string
  default     = "europe-west1"
}

variable "public" {
  description = "Let anybody call; requests still need the API key."
  type        = bool
  default     = false
}

output "url" {
  description = "The address of the service."
  value       = module.service.url
}
