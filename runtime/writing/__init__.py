"""Write files and folders that appear complete, and know what others may have left or changed."""
